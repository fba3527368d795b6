/** Tries servers in turn. One directory gets at most half of the slots, so a silent one does not delay others. Source: iam.md 4. */

import { Semaphore } from '../core/concurrency/semaphore.ts'
import type { Clock } from '../core/time/clock.ts'
import { type Directory, DirectoryError, type DirectoryServer } from './directory.ts'

const questionsAtOnce = 32
const questionsOfOneDirectory = 16
const waitMilliseconds = 10_000

export interface DirectoryTriesOptions {
  readonly driverOf: (url: string) => Directory
  readonly real: Pick<Clock, 'setTimer'>
}

export function createDirectoryTries({ driverOf, real }: DirectoryTriesOptions): Directory {
  const slots = new Semaphore(questionsAtOnce)
  /** By domain, while calls to it are pending. */
  const shares = new Map<string, { readonly slots: Semaphore; askers: number }>()

  async function inTurn<T>(domainName: string, work: () => Promise<T>): Promise<T> {
    const patience = new AbortController()
    const stop = real.setTimer(waitMilliseconds, () =>
      patience.abort(new DirectoryError('busy', 'too many questions to directories are under way')),
    )
    const startedWork = (): Promise<T> => {
      stop()
      return work()
    }
    const share = shares.get(domainName) ?? { slots: new Semaphore(questionsOfOneDirectory), askers: 0 }
    shares.set(domainName, share)
    share.askers++
    try {
      return await share.slots.use(() => slots.use(startedWork, patience.signal), patience.signal)
    } finally {
      stop()
      if (--share.askers === 0) shares.delete(domainName)
    }
  }

  /** A refused password is an answer: no further server is called. */
  const ask = <T>(
    server: DirectoryServer,
    question: (driver: Directory, at: DirectoryServer) => Promise<T>,
  ): Promise<T> =>
    inTurn(server.domainName, async () => {
      const failures: { readonly url: string; readonly error: DirectoryError }[] = []
      for (const url of server.urls) {
        try {
          return await question(driverOf(url), { ...server, urls: [url] })
        } catch (error) {
          if (!(error instanceof DirectoryError) || error.fault === 'credentials') throw error
          failures.push({ url, error })
        }
      }
      throw together(failures)
    })

  return {
    async bind(server, account) {
      if (account.password === '') throw new DirectoryError('credentials', 'invalid credentials: the password is empty')
      return ask(server, (driver, at) => driver.bind(at, account))
    },
    findUser: (server, name) => ask(server, (driver, at) => driver.findUser(at, name)),
    groupsOf: (server, user, recursive) => ask(server, (driver, at) => driver.groupsOf(at, user, recursive)),
    hasGroup: (server, name) => ask(server, (driver, at) => driver.hasGroup(at, name)),
    search: (server, query) => ask(server, (driver, at) => driver.search(at, query)),
  }
}

function together(failures: readonly { readonly url: string; readonly error: DirectoryError }[]): DirectoryError {
  const [first, ...others] = failures
  if (first === undefined) return new DirectoryError('address', 'it has no address')
  if (others.length === 0) return first.error
  const causes = failures.map(({ url, error }) => `${url}: ${error.message}`).join('; ')
  return new DirectoryError(first.error.fault, causes, { cause: first.error })
}
