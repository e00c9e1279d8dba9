"""`CMakeLists.txt` of a project: the compiler's commands are those of `compiler.commands`."""

from __future__ import annotations

from pathlib import Path

from .. import cann
from ..compiler.commands import OBJECT, SOURCE, Command, commands
from ..compiler.options import Arch
from ..compiler.toolchain import Toolchain, arch_of
from .launch import Launch

#: Stand for paths that the build file finds, as arguments of commands.
_BISHENG, _LINKER = "${BISHENG}", "${LD_LLD}"
_INCLUDES, _HEADER = "${KERNEL_INCLUDES}", "${KERNEL_VERSION_HEADER}"

_WIDTH = 100

_START = """\
# Builds the kernel with CANN's compiler, kernel.o, and the host program that runs it, run.
# asctrace wrote this for the route '@ROUTE@' (its docs/device.md); the commands are its own.
cmake_minimum_required(VERSION 3.16)
project(@NAME@ LANGUAGES CXX)
enable_testing()

set(ASCEND_HOME_PATH "$ENV{ASCEND_HOME_PATH}" CACHE PATH "The root of CANN; its set_env.sh sets it")
if(NOT IS_DIRECTORY "${ASCEND_HOME_PATH}")
    message(FATAL_ERROR
        "ASCEND_HOME_PATH is no folder: source set_env.sh of CANN, or pass -DASCEND_HOME_PATH=...")
endif()
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

# -- what CANN has --------------------------------------------------------------------------------

function(need variable what)
    if(NOT ${variable})
        message(FATAL_ERROR "${what} was not found below ${ASCEND_HOME_PATH}")
    endif()
endfunction()

set(folders @BIN@)
list(TRANSFORM folders PREPEND "${ASCEND_HOME_PATH}/")
find_program(BISHENG bisheng PATHS ${folders} NO_DEFAULT_PATH)
need(BISHENG "the compiler bisheng")
find_program(LD_LLD ld.lld PATHS ${folders} NO_DEFAULT_PATH)
need(LD_LLD "the linker ld.lld")
set(folders @LIB@)
list(TRANSFORM folders PREPEND "${ASCEND_HOME_PATH}/")
find_library(ACL_LIBRARY NAMES @LIBRARIES@ PATHS ${folders} NO_DEFAULT_PATH)
need(ACL_LIBRARY "the library of the runtime")
find_path(ACL_INCLUDE acl/acl.h PATHS "${ASCEND_HOME_PATH}"
    PATH_SUFFIXES include runtime/include acllib/include NO_DEFAULT_PATH)
need(ACL_INCLUDE "acl/acl.h")
"""

_HEADERS = """\
set(KERNEL_INCLUDES)
foreach(folder @INCLUDES@)
    if(IS_DIRECTORY "${ASCEND_HOME_PATH}/${folder}")
        list(APPEND KERNEL_INCLUDES -I "${ASCEND_HOME_PATH}/${folder}")
    endif()
endforeach()
if(NOT KERNEL_INCLUDES)
    message(FATAL_ERROR "this CANN has no @FIRST@: save the kernel with route='asc'")
endif()
set(KERNEL_VERSION_HEADER)
foreach(header @HEADERS@)
    if(EXISTS "${ASCEND_HOME_PATH}/${header}" AND NOT KERNEL_VERSION_HEADER)
        set(KERNEL_VERSION_HEADER -include "${ASCEND_HOME_PATH}/${header}")
    endif()
endforeach()
"""

_KERNEL = """\

# -- the kernel -----------------------------------------------------------------------------------

add_custom_command(
    OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/@OBJECT@"
@COMMANDS@
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/@SOURCE@"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    VERBATIM)
add_custom_target(device_code ALL DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/@OBJECT@")

# -- the host program -----------------------------------------------------------------------------

add_executable(run main.cpp)
set_target_properties(run PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
target_compile_options(run PRIVATE -Wall -Wextra)
target_compile_definitions(run PRIVATE
    "PROJECT_DIR=\\"${CMAKE_CURRENT_SOURCE_DIR}\\""
    "KERNEL_FILE=\\"${CMAKE_CURRENT_BINARY_DIR}/@OBJECT@\\"")
target_include_directories(run SYSTEM PRIVATE "${ACL_INCLUDE}")
target_link_libraries(run PRIVATE "${ACL_LIBRARY}")
add_dependencies(run device_code)
add_test(NAME golden COMMAND run)
"""


def cmake_text(launch: Launch) -> str:
    """The whole build file."""
    text = _START + (_HEADERS if launch.route == "objects" else "") + _KERNEL
    steps = _steps(launch, arch_of(launch.trace.chip))
    places = {
        "NAME": launch.symbol,
        "ROUTE": launch.route,
        "BIN": " ".join(cann.TOOL_FOLDERS),
        "LIB": " ".join(cann.LIBRARY_FOLDERS),
        "LIBRARIES": " ".join(name[3:-3] for name in cann.RUNTIME_LIBRARIES),
        "INCLUDES": " ".join(cann.INCLUDES),
        "FIRST": cann.INCLUDES[0],
        "HEADERS": " ".join(cann.VERSION_HEADERS),
        "OBJECT": OBJECT,
        "SOURCE": SOURCE,
        "COMMANDS": "\n".join(map(_command, steps)),
    }
    for name, value in places.items():
        text = text.replace(f"@{name}@", value)
    return text


def _steps(launch: Launch, arch: Arch) -> tuple[Command, ...]:
    """The commands of asctrace itself, with variables in place of what CANN has."""
    objects = launch.route == "objects"
    tools = Toolchain(
        route=launch.route,
        compiler=Path(_BISHENG),
        linker=Path(_LINKER),
        includes=(Path(_INCLUDES),) if objects else (),
        version_header=Path(_HEADER) if objects else None,
        version="",
        identity="",
    )
    return commands(tools, arch, launch.kind, launch.compiling)


def _command(step: Command) -> str:
    """One command; the variables of headers hold their option, and may be empty."""
    words: list[str] = []
    for word in step.argv:
        if word in (_INCLUDES, _HEADER):
            words[-1] = word
        elif word in (_BISHENG, _LINKER):
            words.append(f'"{word}"')
        elif word == SOURCE:
            words.append(f'"${{CMAKE_CURRENT_SOURCE_DIR}}/{SOURCE}"')
        else:
            words.append(_quoted(word))
    lines = ["    COMMAND"]
    for word in words:
        if len(lines[-1]) + len(word) >= _WIDTH:
            lines.append("       ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


def _quoted(word: str) -> str:
    """An argument as CMake reads it."""
    if word and not set(word) & set(' \t\n"\\$;#()@'):
        return word
    for char in '\\"$':
        word = word.replace(char, f"\\{char}")
    return f'"{word}"'
