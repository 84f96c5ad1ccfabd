#pragma once

#include <functional>

namespace polypath::mpi {

/// Called again and again while other ranks are waited for. An exception of its own ends that.
using Wait = std::function<void()>;

}  // namespace polypath::mpi
