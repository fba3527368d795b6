/** Who may use the control interface: whoever is Super Admin in the world `default`, on everything. */

import { ApiError } from '../core/api-error.ts'
import type { Caller } from '../core/caller.ts'
import type { AccessControl, Authenticator } from '../core/ports.ts'
import type { Instance } from '../instance/instance.ts'

/** The world `default`, as it is when asked: a reset or a restore puts another instance in its place. */
export type Home = () => Promise<Instance>

/**
 * The world is asked once for each request, before its transaction: whoever resets a world waits for the transactions about it,
 * which therefore must not wait for the world.
 */
export function createControlAccess(home: Home): AccessControl {
  const administrators = new WeakSet<Caller>()
  return {
    async scope(caller) {
      if (caller.mustChangePassword === true) throw new ApiError('PASSWORD_CHANGE_REQUIRED')
      const isAdministrator = await withCurrentInstance(home, ({ access }) => access.hasRole(caller, ['Super Admin']))
      administrators[isAdministrator ? 'add' : 'delete'](caller)
      return isAdministrator ? 'all' : undefined
    },
    // Asked of those whom `scope` let in.
    viewScope: () => 'all',
    isView: () => true,
    reachOfUnseen: async () => 'by role',
    referScope: async () => 'all',
    explain: (caller) => `the role Super Admin in the world default${administrators.has(caller) ? '' : ' is missing'}`,
    hasRole: (caller, roles) => withCurrentInstance(home, ({ access }) => access.hasRole(caller, roles)),
    scopedKind: (operation) => operation.resource?.kind,
    // Nothing is remembered here.
    changed: () => undefined,
  }
}

/** Credentials are those of the world `default`, which itself hears of what changes them. */
export function createControlAuthenticator(home: Home): Authenticator {
  return {
    authenticate: (credentials) =>
      withCurrentInstance(home, ({ authenticator }) => authenticator.authenticate(credentials)),
    forget: () => undefined,
    forgetProvider: () => undefined,
    countFailure: () => undefined,
    isLocked: () => false,
    unlock: () => undefined,
  }
}

/** Asks again when another instance took the place of the one that was asked: a password of before a reset is worth nothing. */
async function withCurrentInstance<T>(home: Home, ask: (instance: Instance) => T | Promise<T>): Promise<T> {
  for (;;) {
    const instance = await home()
    try {
      const answer = await ask(instance)
      if ((await home()) === instance) return answer
    } catch (error) {
      if (error instanceof ApiError || (await home()) === instance) throw error
    }
  }
}
