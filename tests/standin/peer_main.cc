// A program on the stand-in driver that does what it is told: one command per line on stdin, one
// answer per line on stdout, which is a value, "ok", "same", "differs", or "error N".

#include <iostream>

#include "standin/peer_commands.h"

int main() {
  using polypath::test::Commands;
  Commands commands = polypath::test::memory_commands();
  commands.merge(polypath::test::mapping_commands());
  commands.merge(polypath::test::process_commands());
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "quit") break;
    const auto found = commands.find(command);
    std::cout << (found == commands.end() ? "no such command" : found->second(words)) << '\n'
              << std::flush;
  }
}
