// polypath_report KIND: a JSON request on stdin, the answer on stdout. What scripts/measure_gpus.py
// uses where the Python package is not installed. Errors: one line on stderr, exit status 2.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>

#include "bench/reports.h"
#include "context/calibration.h"
#include "core/error.h"

namespace {

using Report = std::string (*)(const std::string&);

std::string bench(const std::string& request) {
  return polypath::bench::bench_report(request, nullptr);
}
std::string plan(const std::string& request) { return polypath::bench::plan_report(request); }
std::string issue(const std::string& request) { return polypath::bench::issue_report(request); }
// The request says nothing: it is this computer that is calibrated.
std::string calibrate(const std::string&) {
  return polypath::context::calibrate_report("", nullptr);
}

const std::map<std::string, Report> kReports = {
    {"bench", bench}, {"plan", plan}, {"issue", issue}, {"calibrate", calibrate}};

}  // namespace

int main(int count, char** arguments) {
  const auto report = count == 2 ? kReports.find(arguments[1]) : kReports.end();
  if (report == kReports.end()) {
    std::fputs("usage: polypath_report bench|plan|issue|calibrate < request.json\n", stderr);
    return 2;
  }
  const std::string request{std::istreambuf_iterator<char>(std::cin), {}};
  try {
    std::puts(report->second(request).c_str());
    return 0;
  } catch (const polypath::Error& error) {
    std::fprintf(stderr, "polypath_report: %s\n", error.what());
    return 2;
  }
}
