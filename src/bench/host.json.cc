#include "bench/host.json.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "core/text.h"
#include "driver/computer.h"

namespace polypath::bench {

nlohmann::ordered_json host_object(bool simulated) {
  nlohmann::ordered_json host = {{"simulated", simulated},
                                 {"cores", std::thread::hardware_concurrency()}};
  if (simulated) return host;
  const Computer computer = look_at_computer();
  host["processor"] = computer.processor;
  host["gpus"] = computer.gpus.size();
  host["gpu"] = computer.gpus.front().model;
  host["driver_version"] = computer.driver;
  host["date"] = today();
  return host;
}

}  // namespace polypath::bench
