# Chooses the C++ compiler of a contender that compiles coroutines, for which not every compiler will do.
#
# Include it before project(), with CLANG_MIN and GCC_MIN set. The first one that is new enough is taken, Clang before
# GCC; CXX in the environment, or CMAKE_CXX_COMPILER, overrules it.
# `cmake -DCLANG_MIN=17 -DGCC_MIN=14 -P compiler.cmake` only looks whether there is one, as a probe.

# Sets `result` to whether `command` starts a compiler that is new enough.
function(palio_can_compile command result)
    set(${result} FALSE PARENT_SCOPE)
    execute_process(COMMAND ${command} --version RESULT_VARIABLE status OUTPUT_VARIABLE name ERROR_QUIET)
    if(NOT status STREQUAL "0")
        return()
    endif()
    execute_process(COMMAND ${command} -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(needed "${GCC_MIN}")
    if(name MATCHES "clang")
        set(needed "${CLANG_MIN}")
    endif()
    if(version VERSION_GREATER_EQUAL needed)
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

if(DEFINED ENV{CXX})
    set(palio_compilers "$ENV{CXX}")
elseif(CMAKE_CXX_COMPILER)
    set(palio_compilers "${CMAKE_CXX_COMPILER}")
else()
    # As a system calls its own, then as Debian and Ubuntu call the others.
    set(palio_compilers
        clang++ clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17
        g++ g++-16 g++-15 g++-14 g++-13)
endif()
set(palio_compiler "")
foreach(candidate IN LISTS palio_compilers)
    palio_can_compile("${candidate}" found)
    if(found)
        set(palio_compiler "${candidate}")
        break()
    endif()
endforeach()
if(NOT palio_compiler)
    message(FATAL_ERROR "Neither Clang ${CLANG_MIN} nor GCC ${GCC_MIN}, or newer, was found among: ${palio_compilers}")
endif()
if(NOT CMAKE_SCRIPT_MODE_FILE AND NOT CMAKE_CXX_COMPILER)
    find_program(CMAKE_CXX_COMPILER "${palio_compiler}" REQUIRED)
endif()
