/** Rules of a registration, and translation of remote faults for its task. Source: behaviour platform.md 0, 4. */

import { isIPv4, isIPv6 } from 'node:net'
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Registration } from '@hyperplane/contract/platform/registration'
import type { IPAddressOrFQDN } from '@hyperplane/contract/shapes'
import { ApiError } from '../../core/api-error.ts'
import type { Services } from '../../core/world.ts'
import { RemoteFault, type RemoteSide, type RemoteType } from '../../drivers/remote-managers.ts'
import type { Reader } from '../../store/store.ts'
import { DriverError } from '../context.ts'
import { registrationIdOf } from '../registrations/registrations.ts'
import { ownManager } from './own-manager.ts'

const largestSkewMillis = 30_000
const largestDistance = 2
/** The version of clusters that this release was made with. */
const clusterVersion = '7.3'

const typeNames: { readonly [type in RemoteType]: string } = { AOS: 'a cluster', DOMAIN_MANAGER: 'a domain manager' }

interface Asking {
  readonly store: Reader
  readonly services: Pick<Services, 'version'>
}

export async function reasonsAgainst(
  ctx: Asking,
  remote: RemoteSide,
  expected: RemoteType,
  skewMillis: number,
): Promise<string[]> {
  const own = await ownManager(ctx.store)
  const reasons = [...remote.objections]
  if (remote.extId === own.extId)
    reasons.push(
      'it is this manager itself, a copy of it, or one that was made from the same seed for the same place: start one of both from another seed',
    )
  if (remote.type !== expected)
    reasons.push(`it is ${typeNames[remote.type]}, where ${typeNames[expected]} was expected`)
  const supported = remote.type === 'AOS' ? clusterVersion : ctx.services.version
  if (distance(remote.version, supported) > largestDistance) {
    reasons.push(
      `its version ${remote.version} is more than ${largestDistance} minor versions from ${supported}: update one of both`,
    )
  }
  if (Math.abs(skewMillis) >= largestSkewMillis) {
    const seconds = Math.round(skewMillis / 1000)
    reasons.push(`its clock is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}, at most 29 s are allowed`)
  }
  if ((await ctx.store.pending(Registration, registrationIdOf(remote.extId))) !== undefined)
    reasons.push('it is registered, or being registered, under another address')
  if (remote.type === 'AOS') {
    const clusters = await ctx.store.find(Cluster)
    if (clusters.some(({ name }) => name.toLowerCase() === remote.name.toLowerCase()))
      reasons.push(`a cluster is called "${remote.name}" here: rename one of both`)
  } else if ((await ctx.store.findOne(DomainManager, { 'config/name': remote.name })) !== undefined)
    reasons.push(`a manager is called "${remote.name}" here: rename one of both`)
  return reasons
}

function distance(a: string, b: string): number {
  const [[majorA, minorA], [majorB, minorB]] = [a, b].map((text) => text.split('.').map(Number)) as [number[], number[]]
  if (majorA !== majorB) return Number.POSITIVE_INFINITY
  return Math.abs((minorA ?? 0) - (minorB ?? 0))
}

export const precheckFailed = (address: string, reasons: readonly string[]): ApiError =>
  new ApiError('REGISTRATION_PRECHECK_FAILED', { address, reasons: reasons.join('; ') })

export async function asRefusal<T>(address: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof RemoteFault)) throw error
    if (error.reason === 'authentication')
      throw new ApiError('REMOTE_AUTHENTICATION_FAILED', { address }, { cause: error })
    if (error.reason !== 'unreachable') throw precheckFailed(address, [error.message])
    const { appMessage } = new ApiError('REMOTE_UNREACHABLE', { address }, { extra: { cause: error.message } })
    throw new DriverError(error.message, { retryable: true, cause: error, appMessage })
  }
}

/** A warning only: the account of the remote manager was removed here nevertheless. */
export const notNotifiedWarning = (name: string, fault: RemoteFault): string =>
  `The manager "${name}" could not be notified (${fault.message}): unregister this manager there as well.`

export function asAddress(text: string): ValueOf<typeof IPAddressOrFQDN> {
  if (isIPv4(text)) return { ipv4: { value: text, prefixLength: 32 } }
  if (isIPv6(text)) return { ipv6: { value: text, prefixLength: 128 } }
  return { fqdn: { value: text } }
}
