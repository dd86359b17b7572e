"""The ways in which a program ends, each with its exit code.

    0   done, or done before under the same run id
    1   a defect: an exception that nobody expected
    2   a parameter is missing or wrong
    3   the cluster did not have the nodes, CPUs or GPUs in time
    4   an input is missing or damaged
    5   the run id belongs to a run with other parameters or inputs
    6   a disk or mount is full or broken
    7   the work was done and its result is not acceptable
    75  interrupted; what was done is saved and the next attempt goes on from there

KubeRay retries whatever is not 0, as often as the workload's `retries` say.
"""

from __future__ import annotations

EXIT_PARAMETER = 2
EXIT_CLUSTER = 3
EXIT_INPUT = 4
EXIT_IDENTITY = 5
EXIT_STORAGE = 6
EXIT_RESULT = 7
EXIT_INTERRUPTED = 75


class ProgramError(Exception):
    """An end that the user can do something about; `code` is the exit code."""

    code = 1


class ParameterError(ProgramError):
    """Parameters that are missing or wrong, all of them at once."""

    code = EXIT_PARAMETER

    def __init__(self, problems: list[str]) -> None:
        """Keeps the problems one by one; the message has one a line."""
        super().__init__("\n".join(problems))
        self.problems = problems

    def __reduce__(self) -> tuple[type, tuple[list[str]]]:
        """Lets the error travel between processes."""
        return type(self), (self.problems,)


class ClusterError(ProgramError):
    """The cluster lacks what the run needs."""

    code = EXIT_CLUSTER


class InputError(ProgramError):
    """An input is missing or damaged; the message says which, and which workload stages it."""

    code = EXIT_INPUT


class IdentityError(ProgramError):
    """The run id belongs to a run with other parameters or inputs."""

    code = EXIT_IDENTITY


class StorageError(ProgramError):
    """A disk or mount is full, read-only or gone."""

    code = EXIT_STORAGE


class ResultError(ProgramError):
    """The work was done, but its result must not be used."""

    code = EXIT_RESULT


class Interrupted(ProgramError):  # noqa: N818 - it is no error of the program
    """The run was asked to stop; what was done is saved."""

    code = EXIT_INTERRUPTED
