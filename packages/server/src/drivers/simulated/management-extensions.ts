/** vCenters of simulated clusters: `extern.vcenters` by cluster. */
import { DriverError } from '../../core/tasks/define-task.ts'
import { secretDigest } from '../hardware.ts'
import type { ManagementExtensions, ManagementLogin } from '../management-extensions.ts'
import type { SimulatedWorld } from './world.ts'

export interface VcenterFact {
  readonly address: string
  readonly username: string
  readonly passwordDigest: string
  readonly port: number
  readonly hasExtension: boolean
}

export const vcenterFacts = (world: SimulatedWorld) => world.collection<VcenterFact>('extern.vcenters')

export const vcenterDigest = (clusterExtId: string, password: string): string =>
  secretDigest(`vcenter/${clusterExtId}`, password)

export const isVcenterLogin = (
  clusterExtId: string,
  fact: VcenterFact,
  { username, password }: Pick<ManagementLogin, 'username' | 'password'>,
): boolean => fact.username === username && fact.passwordDigest === vcenterDigest(clusterExtId, password)

/** @param reach rejects when the management of the cluster does not answer */
export function createManagementExtensions(
  world: SimulatedWorld,
  reach: (clusterExtId: string) => Promise<void>,
): ManagementExtensions {
  const facts = vcenterFacts(world)
  const put = async (clusterExtId: string, login: ManagementLogin, hasExtension: boolean): Promise<void> => {
    const fact = facts.get(clusterExtId)
    if (fact?.hasExtension === hasExtension) return
    await reach(clusterExtId)
    if (fact === undefined || fact.port !== login.port) throw DriverError.final(`nothing answers on port ${login.port}`)
    if (!isVcenterLogin(clusterExtId, fact, login)) throw DriverError.final('invalid credentials')
    await facts.put(clusterExtId, { ...fact, hasExtension })
  }
  return {
    registerExtension: async (clusterExtId, login) => put(clusterExtId, login, true),
    unregisterExtension: async (clusterExtId, login) => put(clusterExtId, login, false),
  }
}
