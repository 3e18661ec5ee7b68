"""A CUDA device and what was measured on one: what the cells of a GPU lesson import.

document: the JSON document that holds measurements, and what is wrong with a bad one
device:   a device, its clock, its cache and its sensors, behind CuPy, torch and NVML
record:   a document that fills up as device cells are run, or is read where there is no device
sheets:   data sheets of a few cards, for comparison
loops:    what is launched, in which sizes, and measured
workloads: the parts of a Transformer that are measured
doubles:  small documents and kernels' lines, for test cells
train_document: the document of a lesson on training: traces, allocations, losses, steps
timeline: what a torch trace says of the host
trace_doubles: small traces and allocator histories, for test cells

Importing this needs neither CuPy, torch nor NVML: each is imported when a device cell first needs
it, and where it is missing, one sentence says what to install. What may not enter: what a kernel
has computed or moved; the formulas are the students' work.
"""

from proflab.lesson.cuda import doubles, loops, timeline, trace_doubles, train_document, workloads
from proflab.lesson.cuda.device import Gpu, MissingTool, NoDevice
from proflab.lesson.cuda.record import Record
from proflab.lesson.cuda.sheets import multiprocessor, print_ratios

__all__ = [
    "Gpu",
    "MissingTool",
    "NoDevice",
    "Record",
    "doubles",
    "loops",
    "multiprocessor",
    "print_ratios",
    "timeline",
    "trace_doubles",
    "train_document",
    "workloads",
]
