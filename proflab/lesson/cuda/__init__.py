"""A CUDA device and what was measured on one: what the cells of both GPU lessons import.

document: the JSON document that holds measurements, and what is wrong with a bad one
device:   a device, its clock, its cache and its sensors, behind CuPy, torch and NVML
record:   a document that fills up as device cells are run, or is read where there is no device
sheets:   data sheets of a few cards, for comparison
timeline: what a torch trace says of the host
rows:     what a kernel for rows takes from triton.language, computed by NumPy

Importing this needs neither CuPy, torch nor NVML: each is imported when a device cell first needs
it, and where it is missing, one sentence says what to install. What may not enter: what a kernel
has computed or moved; the formulas are the students' work.
"""

from proflab.lesson.cuda import timeline
from proflab.lesson.cuda.device import Gpu, MissingTool, NoDevice
from proflab.lesson.cuda.record import Record
from proflab.lesson.cuda.sheets import multiprocessor, print_ratios, print_ridges
from proflab.lesson.moved import lookup_in

__all__ = [
    "Gpu",
    "MissingTool",
    "NoDevice",
    "Record",
    "multiprocessor",
    "print_ratios",
    "print_ridges",
    "timeline",
]

__getattr__ = lookup_in(__name__)
