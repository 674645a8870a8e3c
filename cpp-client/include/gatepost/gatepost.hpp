// Everything but the adapters for drivers (pqxx.hpp, libpq.hpp) and what is for tests (fake.hpp).
#pragma once

#include <gatepost/advisory_lock.hpp>
#include <gatepost/client.hpp>
#include <gatepost/election.hpp>
#include <gatepost/fence.hpp>
#include <gatepost/mutex.hpp>
#include <gatepost/singleton.hpp>
#include <gatepost/version.hpp>
