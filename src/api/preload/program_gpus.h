#pragma once
// The GPUs of this process for layers before other libraries.

#include "context/open.h"

namespace polypath::preload {

/// With the program's own contexts: its memory and its streams are at home there. Opened at the
/// first call, with these settings, and never destroyed: at exit CUDA may be gone before us.
/// Errors: those of open_machine(); unsupported where there are no GPUs.
const OpenMachine& program_gpus(const Settings& settings);

}  // namespace polypath::preload
