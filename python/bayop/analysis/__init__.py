"""What a study says: fronts, best settings, savings, shapes. Pure: tables in, tables out, one question a module."""
