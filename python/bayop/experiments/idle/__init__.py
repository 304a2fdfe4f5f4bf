"""Who puts cores to sleep and where requests are served, played on the twin: the evaluation of Yawn ([Y])."""
