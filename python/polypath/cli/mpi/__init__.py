"""What `polypath mpi` is made of: an MPI, a program compiled for it, and runs of it."""
