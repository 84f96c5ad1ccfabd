#pragma once
// How much time on CPUs a container or a job grants, which CPU sets do not say.

#include <optional>
#include <string>

namespace polypath {

/// How many whole CPUs this process's control groups grant, 1 at least; nothing where they set no
/// limit: cpu.max (version 2), cpu.cfs_quota_us (version 1), of the group and those that it is in.
/// `root` is put before every path that is read, for tests.
std::optional<int> cpu_quota(const std::string& root = "");

}  // namespace polypath
