// A transport of the ranks of a communicator: the ranks exchange their addresses by its rounds.

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "communicator/bootstrap/sockets.h"
#include "communicator/communicator.h"
#include "communicator/transport/own_addresses.h"
#include "communicator/transport/transport.h"
#include "core/error.h"

namespace polypath::communicator {
namespace {

std::vector<RankAddresses> addresses_of_all(Communicator& communicator) {
  const std::vector<OwnAddress> own = own_addresses();
  const Blob raw(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(OwnAddress));
  const std::vector<Blob> computers = communicator.all_gather(this_node());
  const std::vector<Blob> said = communicator.all_gather(raw);
  std::vector<RankAddresses> all(said.size());
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    all[rank].computer = computers[rank];
    all[rank].addresses.resize(said[rank].size() / sizeof(OwnAddress));
    if (said[rank].empty()) continue;
    std::memcpy(all[rank].addresses.data(), said[rank].data(), said[rank].size());
  }
  return all;
}

std::string host_of(Communicator& communicator, const std::string& host) {
  const auto found = reachable_host(addresses_of_all(communicator), communicator.rank());
  return host.empty() ? found.value_or("") : host;
}

std::string problem_with(const std::string& host) {
  if (host.empty()) return "it has no address but its loopback";
  try {
    (void)listen_at({host, "0"});
    return {};
  } catch (const Error&) {
    return fmt::format("'{}' is no name or address of its computer", host);
  }
}

// A rank that cannot listen is reported to all: they would wait for it.
void check_all(Communicator& communicator, const std::string& host) {
  const std::vector<Blob> problems = communicator.all_gather(problem_with(host));
  for (std::size_t rank = 0; rank < problems.size(); ++rank)
    if (!problems[rank].empty())
      fail(ErrorCode::invalid_argument,
           fmt::format("Rank {} cannot be reached from other nodes", rank), problems[rank],
           "Give it the host name or the address of one of its network interfaces.");
}

}  // namespace

std::unique_ptr<Transport> transport_by_tcp(Communicator& communicator, const std::string& host) {
  const std::string used = host_of(communicator, host);
  check_all(communicator, used);
  const auto rounds = bootstrap_by_functions(
      {.all_gather = [&](const Blob& mine, Seconds) { return communicator.all_gather(mine); },
       .split = {}},
      communicator.rank(), communicator.size());
  return transport_by_tcp(*rounds, used, communicator.timeout());
}

}  // namespace polypath::communicator
