def from_arguments(a):
    raise NotImplementedError
