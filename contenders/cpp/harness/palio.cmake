# What is the same for every C++ contender: standard, optimisation, and the flags that --describe reports.
#
# palio_contender(NAME SOURCE... LINK LIBRARY...) makes the executable NAME from one contender's sources.

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Shows the lines that the compiler was really given, so that PALIO_FLAGS can be checked against them.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(PALIO_HARNESS "${CMAKE_CURRENT_LIST_DIR}")

function(palio_contender name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_include_directories(${name} PRIVATE "${PALIO_HARNESS}")
    target_link_libraries(${name} PRIVATE ${arg_LINK})
    set_target_properties(${name} PROPERTIES
        CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_compile_options(${name} PRIVATE -march=native -Wall -Wextra)

    # Three sources make a compiler's command line: the variables (with CXXFLAGS of the environment), the standard, and
    # the options of the target together with those that its libraries bring. Warnings change no code.
    string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
    string(JOIN " " variables
        ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}} ${CMAKE_CXX20_STANDARD_COMPILE_OPTION})
    set(options "$<FILTER:$<TARGET_PROPERTY:${name},COMPILE_OPTIONS>,EXCLUDE,^-W>")
    target_compile_definitions(${name} PRIVATE "PALIO_FLAGS=\"${variables} $<JOIN:${options}, >\"")
endfunction()
