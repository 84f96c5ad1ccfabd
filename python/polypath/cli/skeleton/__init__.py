"""A machine file to fill in, made of what `nvidia-smi topo -m` prints."""
