// Tokens, names, lengths of time, errors.
#include "server.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace gatepost::test {
namespace {

template <typename Call> std::string sqlstate_of(Call &&call) {
  try {
    call();
  } catch (const error &error) {
    return error.sqlstate();
  }
  return "none";
}

TEST(Types, TokenHasItsRange) {
  EXPECT_EQ(Token{Token::highest}.value(), 9007199254740991);
  EXPECT_EQ(sqlstate_of([] { Token{0}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Token{Token::highest + 1}; }), "22023");
  EXPECT_LT(Token{5}, Token{6});
}

TEST(Types, NameHasItsLength) {
  EXPECT_EQ(sqlstate_of([] { Name{""}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Name{std::string(1025, 'x')}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Name{std::string("a\0b", 3)}; }), "22023");
  EXPECT_EQ(Name{std::string(1024, 'x')}.text().size(), 1024u);
}

TEST(Types, TtlHasItsRange) {
  EXPECT_EQ(sqlstate_of([] { Ttl{0s}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Ttl{25h}; }), "22023");
  EXPECT_EQ(Ttl{30s}.length(), 30s);
}

TEST(Types, WhatIsNotMeantDoesNotCompile) {
  static_assert(!std::is_convertible_v<std::int64_t, Token>);
  static_assert(!std::is_convertible_v<Token, Name>);
  static_assert(!std::is_copy_constructible_v<Lease> && std::is_nothrow_move_constructible_v<Lease>);
  static_assert(std::is_nothrow_move_assignable_v<Lease> && std::is_nothrow_destructible_v<Lease>);
  static_assert(!std::is_convertible_v<Lease, Permit>);
  static_assert(noexcept(std::declval<const Lease &>().held()));
}

TEST(Types, ErrorsOfTheServerKeepTheirSqlstate) {
  EXPECT_THROW(throw_for("LG001", "x"), stale_token);
  EXPECT_THROW(throw_for("25006", "x"), unavailable);
  EXPECT_THROW(throw_for("57P01", "x"), unavailable);
  EXPECT_EQ(sqlstate_of([] { throw_for("42501", "x"); }), "42501");
  EXPECT_EQ(sqlstate_of([] { throw lease_lost("x", Loss::broken); }), "LG002");
}

TEST(Types, TheServerRefusesWithItsSqlstate) {
  Client client{direct("types")};
  EXPECT_EQ(sqlstate_of([&] { (void)client.try_acquire(fresh("json"), 30s, {.metadata = "{"}); }), "22P02");
  EXPECT_EQ(sqlstate_of([&] { client.execute("SELECT 1/0"); }), "22012");
}

TEST(Types, NamesWithQuotesAreRenewed) {
  Client client{direct("quotes")};
  const std::string name = fresh("a\"b\\c{,}'d e");
  auto lease = client.try_acquire(name, 1s);
  ASSERT_TRUE(lease);
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(lease->held());
  EXPECT_TRUE(is_held(name));
}

} // namespace
} // namespace gatepost::test
