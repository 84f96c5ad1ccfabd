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

}  // namespace polypath::preload
