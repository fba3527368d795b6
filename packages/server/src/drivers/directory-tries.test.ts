import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Directory, DirectoryError, type DirectoryServer } from './directory.ts'
import { createDirectoryTries } from './directory-tries.ts'

const server = (...urls: string[]): DirectoryServer => ({
  urls,
  type: 'ACTIVE_DIRECTORY',
  domainName: 'example.com',
  account: { username: 'svc', password: 'secret' },
})
const account = { username: 'alice', password: 'secret' }

/** Timers that the test fires. */
function handTimers() {
  const timers = new Set<() => void>()
  const setTimer = (_: number, run: () => void) => {
    timers.add(run)
    return () => timers.delete(run)
  }
  const runAll = (): void => {
    for (const run of [...timers]) run()
  }
  return { setTimer, size: () => timers.size, runAll }
}

const driver = (bind: Directory['bind']): Directory => ({ bind }) as Directory
const real = handTimers()

test('servers are tried in order until one answers', async () => {
  const asked: string[] = []
  const bind = async (at: DirectoryServer): Promise<void> => {
    asked.push(...at.urls)
    if (at.urls[0] !== 'ldap://c') throw new DirectoryError('timeout', 'time-out')
  }
  const tries = createDirectoryTries({ driverOf: () => driver(bind), real })
  await tries.bind(server('ldap://a', 'ldap://b', 'ldap://c', 'ldap://d'), account)
  assert.deepEqual(asked, ['ldap://a', 'ldap://b', 'ldap://c'])
})

test('a refused password is an answer: no further server is called', async () => {
  const asked: string[] = []
  const bind = async (at: DirectoryServer): Promise<void> => {
    asked.push(...at.urls)
    throw new DirectoryError('credentials', 'invalid credentials')
  }
  const tries = createDirectoryTries({ driverOf: () => driver(bind), real })
  await assert.rejects(tries.bind(server('ldap://a', 'ldap://b'), account), /invalid credentials/)
  assert.deepEqual(asked, ['ldap://a'])
})

test('when none answers, each server is reported with its cause', async () => {
  const bind = async (at: DirectoryServer): Promise<void> => {
    throw new DirectoryError(at.urls[0] === 'ldap://a' ? 'timeout' : 'tls', `cause of ${at.urls[0]}`)
  }
  const tries = createDirectoryTries({ driverOf: () => driver(bind), real })
  await assert.rejects(tries.bind(server('ldap://a', 'ldap://b'), account), (error: DirectoryError) => {
    assert.equal(error.fault, 'timeout')
    assert.equal(error.message, 'ldap://a: cause of ldap://a; ldap://b: cause of ldap://b')
    return true
  })
})

test('an empty password is refused before any server is called', async () => {
  const tries = createDirectoryTries({ driverOf: () => assert.fail('asked'), real })
  await assert.rejects(tries.bind(server('ldap://a'), { username: 'alice', password: '' }), /password is empty/)
})

test('16 concurrent calls to one directory, 32 to all; others wait, and time out without being sent', async () => {
  const timers = handTimers()
  const answer = Promise.withResolvers<void>()
  let asked = 0
  const bind = (): Promise<void> => {
    asked++
    return answer.promise
  }
  const tries = createDirectoryTries({ driverOf: () => driver(bind), real: timers })
  const other = (domainName: string): DirectoryServer => ({ ...server('ldap://b'), domainName })
  const ask = (at: DirectoryServer, count: number): Promise<void>[] =>
    Array.from({ length: count }, () => tries.bind(at, account))
  const running = ask(server('ldap://a'), 16)
  const waiting = ask(server('ldap://a'), 1)
  assert.equal(asked, 16)
  running.push(...ask(other('one.test'), 16))
  waiting.push(...ask(other('two.test'), 1))
  const refused = Promise.allSettled(waiting)
  assert.deepEqual([asked, timers.size()], [32, 2])
  timers.runAll()
  for (const one of await refused) {
    assert.equal(one.status, 'rejected')
    assert.equal(((one as PromiseRejectedResult).reason as DirectoryError).fault, 'busy')
  }
  const late = tries.bind(server('ldap://a'), account)
  answer.resolve()
  await Promise.all([...running, late])
  assert.deepEqual([asked, timers.size()], [33, 0])
})
