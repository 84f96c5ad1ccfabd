#pragma once
// Facts about this process: whether it is still the one that made something, and its name.

#include <string>

#include "core/layers.h"

namespace polypath {

/// Counts the forks that lie between the first process and this one: differs in a forked child.
/// Costs a load, where asking the system for the process number costs a call.
int process_generation();

/// The program's name as the system's process list shows it, at most 15 characters; empty if that
/// cannot be read.
std::string program_name();

}  // namespace polypath
