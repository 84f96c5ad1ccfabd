#pragma once
// The GPUs of this process for layers before other libraries.

#include "collective/rank/seen_gpus.h"
#include "context/open.h"

namespace polypath::preload {

/// With the program's own contexts: its memory and its streams are at home there. Opened at the
/// first call, with these settings, and never destroyed: at exit CUDA may be gone before us.
/// Errors: those of open_machine(); unsupported where there are no GPUs.
const OpenMachine& program_gpus(const Settings& settings);
/// The same for ranks.
const OpenMachine& gpus_of_ranks(const Settings& settings, GpusOf which);

}  // namespace polypath::preload
