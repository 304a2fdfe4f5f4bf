"""The controller: hold a setting, watch it, search again when a trigger fires; on a clock that is an argument."""
