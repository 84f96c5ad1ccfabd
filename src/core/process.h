#pragma once
// Whether this process is still the one that made something.

namespace polypath {

/// Counts the forks that lie between the first process and this one: differs in a forked child.
/// Costs a load, where asking the system for the process number costs a call.
int process_generation();

}  // namespace polypath
