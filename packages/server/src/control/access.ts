/** Access to the control interface: a Super Admin of the world `default` may do everything, all others nothing. */

import { ApiError } from '../core/api-error.ts'
import type { Caller } from '../core/caller.ts'
import type { AccessControl, Authenticator } from '../core/ports.ts'
import type { Instance } from '../instance/instance.ts'

/** A reset or a restore replaces the instance. */
export type Home = () => Promise<Instance>

/** Reads the world before each request's transaction: a reset waits for open transactions, which must not wait for the world. */
export function createControlAccess(home: Home): AccessControl {
  const administrators = new WeakSet<Caller>()
  return {
    async scope(caller) {
      if (caller.mustChangePassword === true) throw new ApiError('PASSWORD_CHANGE_REQUIRED')
      const isAdministrator = await withCurrentInstance(home, ({ access }) => access.hasRole(caller, ['Super Admin']))
      administrators[isAdministrator ? 'add' : 'delete'](caller)
      return isAdministrator ? 'all' : undefined
    },
    // Called only for callers that `scope` accepted.
    viewScope: () => 'all',
    isView: () => true,
    reachOfUnseen: async () => 'by role',
    referScope: async () => 'all',
    explain: (caller) => `the role Super Admin in the world default${administrators.has(caller) ? '' : ' is missing'}`,
    hasRole: (caller, roles) => withCurrentInstance(home, ({ access }) => access.hasRole(caller, roles)),
    scopedKind: (operation) => operation.resource?.kind,
    changes: undefined,
    changed: () => undefined,
  }
}

/** Credentials of `default`, whose own authenticator is notified of changes. */
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

/** Asks again if a reset replaced the instance during the call: earlier passwords are no longer valid. */
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
