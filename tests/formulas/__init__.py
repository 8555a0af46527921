"""Every problem's formula once more, in numpy and loops: what the torch files are held against."""
