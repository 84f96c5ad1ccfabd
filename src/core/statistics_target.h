#pragma once
// Where POLYPATH_STATS sends the statistics of a process: 1 prints them on stderr at exit; a
// folder, which has a "/" in its name, gets them as a file of each process.

#include <string>

namespace polypath {

struct StatisticsTarget {
  bool wanted = false;
  std::string folder;  ///< empty: stderr
};

/// Whether `text` names a folder.
bool is_statistics_folder(const std::string& text);
/// The target that POLYPATH_STATS names. It looks for nothing else, so that a process that never
/// makes a copy can afford it.
StatisticsTarget statistics_target();

}  // namespace polypath
