// SPDX-License-Identifier: Apache-2.0
#include "report/page/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/page/markup.h"
#include "report/page/page_parts.h"
#include "support/sha256.h"

namespace tenon::report {
namespace {

std::string base64(const Sha256::Digest& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < n ? bytes[at + i] : 0U);
    for (size_t i = 0; i < 4; ++i) {
      out += i <= n ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

// Nothing is fetched, and no script runs but ours, whatever a label holds.
std::string policy(const std::string& script) {
  const std::string nothing = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  if (script.empty()) return nothing;
  return fmt::format("{}; script-src 'sha256-{}'", nothing, base64(Sha256().add(script).digest()));
}

std::string framed(const std::string& title, const std::string& body, const std::string& script) {
  return fmt::format(
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
             "http-equiv=\"Content-Security-Policy\" content=\"{}\"><meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" "
             "content=\"light dark\"><title>{} · tenon</title>\n<style>\n",
             policy(script), escape_html(title)) +
         std::string(page_style()) + "</style></head>\n<body><main>" + body + "</main>\n" +
         (script.empty() ? "" : "<script>" + script + "</script>") + "</body></html>\n";
}

}  // namespace

std::string page(const std::string& title, const std::string& body) {
  return framed(title, body, std::string(page_script()));
}

std::string still_page(const std::string& title, const std::string& body) {
  return framed(title, body, "");
}

std::string section(const char* id, const char* title, const std::string& note,
                    const std::string& body) {
  return fmt::format("<section id=\"{}\" class=\"card\"><h2>{}</h2>{}{}</section>", id, title,
                     note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>", note), body);
}

}  // namespace tenon::report
