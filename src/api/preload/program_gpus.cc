#include "api/preload/program_gpus.h"

#include "core/error.h"

namespace polypath::preload {

const OpenMachine& program_gpus(const Settings& settings) {
  static const OpenMachine* const opened = [&] {
    auto* const made = new OpenMachine(open_machine("", settings));
    if (made->simulated())
      fail(ErrorCode::unsupported, "collectives cannot be made here", made->note());
    return made;
  }();
  return *opened;
}

const OpenMachine& gpus_of_ranks(const Settings& settings, GpusOf which) {
  return which == GpusOf::process ? program_gpus(settings) : whole_computer(settings);
}

}  // namespace polypath::preload
