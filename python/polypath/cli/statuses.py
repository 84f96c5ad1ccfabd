"""Exit statuses. Of nothing else, because they are needed before anything is loaded."""

REQUEST_ERROR = 2  # the request cannot be carried out as it is written
RUN_ERROR = 1  # the request was fine, carrying it out failed
INTERRUPTED = 130
PIPE_CLOSED = 141  # what reads stdout has ended, as head does: what a shell says of SIGPIPE
