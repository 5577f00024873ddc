# What is the same for every C++ contender: standard, optimisation, and the flags that --describe reports.
#
# palio_contender(NAME SOURCE... LINK LIBRARY... [STANDARD 23]) makes the executable NAME from one contender's sources.
# A variant is called as its first feature: -DPALIO_FEATURES=mimalloc is the variant mimalloc.
# palio_has(FEATURE RESULT) says whether FEATURE is among the variant's, which -DPALIO_FEATURES=a,b names.
# palio_find(PACKAGE VERSION) finds a library that the user installed, where the environment says now.
# palio_header(RESULT FILE MESSAGE) finds the folder of a header, for a library without a CMake package.
# palio_fingerprint(RESULT PLACES HEADER...) tells apart releases of headers whose number does not: a hash over what they
# are called below those of PLACES that have them, and what they contain.

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Shows the lines that the compiler was really given, so that PALIO_FLAGS can be checked against them.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
include(CheckCXXCompilerFlag)
set(PALIO_HARNESS "${CMAKE_CURRENT_LIST_DIR}")

function(palio_find package version)
    # CMake remembers where it found one, though the user may since have named another prefix.
    unset(${package}_DIR CACHE)
    find_package(${package} ${version} CONFIG QUIET)
    if(NOT ${package}_FOUND)
        message(FATAL_ERROR
            "${PROJECT_NAME}: ${package} ${version} or newer was not found. Install it as its documentation says, and "
            "name its prefix in CMAKE_PREFIX_PATH.")
    endif()
endfunction()

function(palio_header result file message)
    unset(${result} CACHE)
    find_path(${result} "${file}")
    if(NOT ${result})
        message(FATAL_ERROR "${PROJECT_NAME}: ${message}, and name its prefix in CMAKE_PREFIX_PATH.")
    endif()
endfunction()

function(palio_fingerprint result places)
    set(contents "")
    foreach(place IN LISTS places)
        foreach(header IN LISTS ARGN)
            if(EXISTS "${place}/${header}")
                file(SHA256 "${place}/${header}" content)
                string(APPEND contents "${content}  ${header}\n")
            endif()
        endforeach()
    endforeach()
    if(contents STREQUAL "")
        message(FATAL_ERROR "${PROJECT_NAME}: no headers below ${places}")
    endif()
    string(SHA256 fingerprint "${contents}")
    string(SUBSTRING "${fingerprint}" 0 12 fingerprint)
    set(${result} "${fingerprint}" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" PALIO_FEATURE_LIST "${PALIO_FEATURES}")

function(palio_has feature result)
    set(${result} FALSE PARENT_SCOPE)
    if(feature IN_LIST PALIO_FEATURE_LIST)
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

# The library whose malloc takes the place of the system's, if the variant has one. The linker must keep it, though
# nothing in the contender names it, and it must come before the C library: both hold for the first one on the line.
function(palio_allocator result)
    set(${result} "" PARENT_SCOPE)
    palio_has(mimalloc is_mimalloc)
    if(is_mimalloc)
        unset(mimalloc_DIR CACHE)
        find_package(mimalloc CONFIG QUIET)
        if(NOT TARGET mimalloc)
            message(FATAL_ERROR
                "${PROJECT_NAME}: mimalloc was not found. On Debian: apt install libmimalloc-dev. "
                "Elsewhere: https://github.com/microsoft/mimalloc, and name its prefix in CMAKE_PREFIX_PATH.")
        endif()
        set(${result} mimalloc PARENT_SCOPE)
    endif()
    palio_has(tcmalloc is_tcmalloc)
    if(is_tcmalloc)
        find_library(TCMALLOC NAMES tcmalloc)
        if(NOT TCMALLOC)
            message(FATAL_ERROR
                "${PROJECT_NAME}: tcmalloc was not found. On Debian: apt install libgoogle-perftools-dev. "
                "Elsewhere: https://github.com/gperftools/gperftools.")
        endif()
        set(${result} "${TCMALLOC}" PARENT_SCOPE)
    endif()
endfunction()

function(palio_contender name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "STANDARD" "LINK")
    if(NOT arg_STANDARD)
        set(arg_STANDARD 20)
    endif()
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_include_directories(${name} PRIVATE "${PALIO_HARNESS}")
    palio_allocator(allocator)
    if(allocator)
        target_link_libraries(${name} PRIVATE -Wl,--no-as-needed ${allocator} -Wl,--as-needed)
    endif()
    # It asks the dynamic linker whose malloc it has.
    target_link_libraries(${name} PRIVATE ${arg_LINK} ${CMAKE_DL_LIBS})
    set_target_properties(${name} PROPERTIES
        CXX_STANDARD ${arg_STANDARD} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_compile_options(${name} PRIVATE -march=native -Wall -Wextra)
    # LLVM, which compiles Rust as well, takes vectors of 256 bits also where the processor has longer ones. GCC takes
    # the longest for some processors, and then its matrix kernel needs three quarters of the time of the others'.
    check_cxx_compiler_flag(-mprefer-vector-width=256 PALIO_LIMITS_VECTORS)
    if(PALIO_LIMITS_VECTORS)
        target_compile_options(${name} PRIVATE -mprefer-vector-width=256)
    endif()

    # Four sources make a compiler's command line: the variables (with CXXFLAGS of the environment), the standard, the
    # options of the target together with those that its libraries bring, and the definitions that its libraries bring,
    # by which a header-only one is configured. Warnings change no code.
    string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
    string(JOIN " " variables
        ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}} ${CMAKE_CXX${arg_STANDARD}_STANDARD_COMPILE_OPTION})
    set(options "$<FILTER:$<TARGET_PROPERTY:${name},COMPILE_OPTIONS>,EXCLUDE,^-W>")
    # Read now: a generator expression that asked a library for them would make CMake leave them out of the command line.
    set(defined "")
    foreach(library IN LISTS arg_LINK)
        if(TARGET ${library})
            get_target_property(definitions ${library} INTERFACE_COMPILE_DEFINITIONS)
            if(definitions)
                list(TRANSFORM definitions REPLACE "(.+)" "$<$<BOOL:\\1>: -D\\1>")
                string(APPEND defined ${definitions})
            endif()
        endif()
    endforeach()
    # The first feature of a variant is its name.
    set(variant "")
    if(PALIO_FEATURE_LIST)
        list(GET PALIO_FEATURE_LIST 0 variant)
        string(PREPEND variant "-")
    endif()
    target_compile_definitions(${name} PRIVATE "PALIO_VARIANT=\"${variant}\"")
    target_compile_definitions(${name} PRIVATE "PALIO_FLAGS=\"${variables} $<JOIN:${options}, >${defined}\"")
endfunction()
