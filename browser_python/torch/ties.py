"""The order in which torch's `sort` and `topk` leave equal numbers, which programs print.

The C++ library promises none, but torch for Linux is built with GNU's, and these are its `std::sort`, `std::partial_sort`
and `std::nth_element`: introsort and introselect (Musser, 1997). They order a list `at` of places in a row of numbers
between `first` and `last`; `less(i, j)` says whether the number at place i comes before that at place j.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import cmp_to_key

from .numbers import Numbers

Less = Callable[[int, int], bool]
SHORT = 16  # numbers of a part that introsort leaves to the last step, which keeps the order of equal numbers


def have_ties(row: Numbers) -> bool:
    """Check whether some of these numbers are equal, or not numbers."""
    return len(set(row)) < len(row) or builtins.any(v != v for v in row)


def sort(row: Numbers, descending: bool) -> list[int]:
    """Return the places of a row's numbers in the order of torch's `sort`."""
    at = list(range(len(row)))
    introsort(at, 0, len(at), order_of(row, descending))
    return at


def topk(row: Numbers, k: int, largest: bool, is_sorted: bool) -> list[int]:
    """Return the places of a row's k largest or smallest numbers in the order of torch's `topk`."""
    at, less = list(range(len(row))), order_of(row, largest)
    if k * 64 <= len(row):
        partial_sort(at, 0, k, len(at), less)
    else:
        select(at, k - 1, less)
        if is_sorted:
            introsort(at, 0, k - 1, less)
    return at[:k]


def order_of(row: Numbers, descending: bool) -> Less:
    """Return `less` for a row: whether one place's number comes before another's; nan counts as the largest."""

    def less(i: int, j: int) -> bool:
        x, y = (row[j], row[i]) if descending else (row[i], row[j])
        return x < y or (y != y and x == x)

    return less


def introsort(at: list[int], first: int, last: int, less: Less) -> None:
    """`std::sort` of `at[first:last]`, in place: quicksort, then insertion sort.

    Heapsort takes over where quicksort goes too deep.
    """

    def divide(first: int, last: int, depth: int) -> None:
        while last - first > SHORT:
            if not depth:
                return partial_sort(at, first, last, last, less)
            depth -= 1
            cut = partition(at, first, last, less)
            divide(cut, last, depth)
            last = cut

    divide(first, last, depth_of(last - first))
    insertion_sort(at, first, last, less)


def select(at: list[int], place: int, less: Less) -> None:
    """`std::nth_element` in place: what belongs at `place` comes there, and what comes before it, before it."""
    first, last, depth = 0, len(at), depth_of(len(at))
    while last - first > 3:
        if not depth:
            heap_select(at, first, place + 1, last, less)
            at[first], at[place] = at[place], at[first]
            return
        depth -= 1
        cut = partition(at, first, last, less)
        first, last = (cut, last) if cut <= place else (first, cut)
    insertion_sort(at, first, last, less)


def depth_of(size: int) -> int:
    return 2 * (size.bit_length() - 1)


def insertion_sort(at: list[int], first: int, last: int, less: Less) -> None:
    """Sort `at[first:last]` in place so that equal numbers keep their order, as an insertion sort does."""

    def compare(i: int, j: int) -> int:
        return less(j, i) - less(i, j)

    at[first:last] = builtins.sorted(at[first:last], key=cmp_to_key(compare))


def partition(at: list[int], first: int, last: int, less: Less) -> int:
    """Divide `at[first:last]` in place at the median of three of its numbers; return where its second half begins."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if less(at[a], at[b]):
        median = b if less(at[b], at[c]) else c if less(at[a], at[c]) else a
    else:
        median = a if less(at[a], at[c]) else c if less(at[b], at[c]) else b
    at[first], at[median] = at[median], at[first]
    pivot, i, j = at[first], first + 1, last - 1
    while True:
        while less(at[i], pivot):
            i += 1
        while less(pivot, at[j]):
            j -= 1
        if i >= j:
            return i
        at[i], at[j] = at[j], at[i]
        i, j = i + 1, j - 1


def partial_sort(at: list[int], first: int, middle: int, last: int, less: Less) -> None:
    """`std::partial_sort` in place: the first numbers of `at[first:last]` come into `at[first:middle]`, in order.

    The rest are in no order.
    """
    heap_select(at, first, middle, last, less)
    for end in range(middle - 1, first, -1):
        value, at[end] = at[end], at[first]
        sift(at, first, 0, end - first, value, less)


def heap_select(at: list[int], first: int, middle: int, last: int, less: Less) -> None:
    """Bring the first numbers of `at[first:last]` into `at[first:middle]`, as a heap with their last at its top."""
    size = middle - first
    for parent in range(size // 2 - 1, -1, -1):
        sift(at, first, parent, size, at[first + parent], less)
    for i in range(middle, last):
        if less(at[i], at[first]):
            value, at[i] = at[i], at[first]
            sift(at, first, 0, size, value, less)


def sift(at: list[int], first: int, hole: int, size: int, value: int, less: Less) -> None:
    """Put `value` into the heap of `size` places from `first`. Its place `hole`, which counts from `first`, is free.

    The hole moves down to a leaf, and the value up from there.
    """
    top = hole
    while 2 * hole + 1 < size:
        child = 2 * hole + 2
        if child == size or less(at[first + child], at[first + child - 1]):
            child -= 1
        at[first + hole] = at[first + child]
        hole = child
    while hole > top and less(at[first + (hole - 1) // 2], value):
        at[first + hole] = at[first + (hole - 1) // 2]
        hole = (hole - 1) // 2
    at[first + hole] = value
