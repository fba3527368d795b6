/** Requests to reserve or unreserve addresses. Source: behaviour networking.md 1.1 (addresses), 1.3. */
import type { IpReserveSpec, IpUnreserveSpec } from '@hyperplane/contract/networking/reserved-ip'
import type { ValueOf } from '@hyperplane/contract/schema'
import { type ApiError, refuseAll } from '../../core/api-error.ts'
import { type Address, bitsOf, notAHost, readAddress, type WireAddress } from '../../core/ip-address.ts'
import { invalidField } from './ip-config.ts'

export type ReserveSpec = ValueOf<typeof IpReserveSpec>
export type UnreserveSpec = ValueOf<typeof IpUnreserveSpec>

export type RequestedAddresses =
  | { readonly kind: 'lowest'; readonly count: number; readonly start?: Address }
  | { readonly kind: 'exactly'; readonly addresses: readonly Address[]; readonly pathOf: (index: number) => string }
  | { readonly kind: 'context'; readonly context: string }

type Choice = 'startIpAddress' | 'count' | 'ipAddresses'
const choices: readonly Choice[] = ['startIpAddress', 'count', 'ipAddresses']

const fieldsOf: Readonly<Record<string, { readonly needs: readonly Choice[]; readonly takes?: readonly Choice[] }>> = {
  IP_ADDRESS_COUNT: { needs: ['count'], takes: ['startIpAddress'] },
  IP_ADDRESS_RANGE: { needs: ['startIpAddress', 'count'] },
  IP_ADDRESS_LIST: { needs: ['ipAddresses'] },
  CONTEXT: { needs: [] },
}

/** @throws ApiError 400 for fields that are missing, do not belong to the type, or are no host address */
export function requestedAddresses(spec: ReserveSpec | UnreserveSpec): RequestedAddresses {
  const type = 'reserveType' in spec ? spec.reserveType : spec.unreserveType
  const { needs, takes = [] } = fieldsOf[type]!
  const faults: ApiError[] = []
  for (const name of choices) {
    if (needs.includes(name) && spec[name] === undefined) faults.push(invalidField(name, `is required with ${type}`))
    if (!needs.includes(name) && !takes.includes(name) && spec[name] !== undefined) {
      faults.push(invalidField(name, `does not belong to ${type}`))
    }
  }
  if (type === 'CONTEXT' && spec.clientContext === undefined)
    faults.push(invalidField('clientContext', 'is required with CONTEXT'))
  refuseAll(faults)

  if (type === 'CONTEXT') return { kind: 'context', context: spec.clientContext! }
  if (type === 'IP_ADDRESS_LIST') return listOfAddresses(spec.ipAddresses!)
  const start = spec.startIpAddress === undefined ? undefined : hostAt(spec.startIpAddress, 'startIpAddress', faults)
  refuseAll(faults)
  const count = spec.count!
  if (type === 'IP_ADDRESS_COUNT') return { kind: 'lowest', count, ...(start === undefined ? {} : { start }) }
  const { family, value } = start!
  if (value + BigInt(count) > 1n << BigInt(bitsOf(family)))
    throw invalidField('count', 'the range ends beyond the last address')
  return {
    kind: 'exactly',
    addresses: Array.from({ length: count }, (_, index) => ({ family, value: value + BigInt(index) })),
    pathOf: () => 'startIpAddress',
  }
}

function listOfAddresses(given: readonly WireAddress[]): RequestedAddresses {
  const faults: ApiError[] = []
  const seen = new Set<string>()
  const addresses = given.flatMap((item, index) => {
    const path = `ipAddresses[${index}]`
    const address = hostAt(item, path, faults)
    if (address === undefined) return []
    const key = `${address.family} ${address.value}`
    if (seen.has(key)) faults.push(invalidField(path, 'expected distinct addresses, found the same one twice'))
    seen.add(key)
    return [address]
  })
  refuseAll(faults)
  return { kind: 'exactly', addresses, pathOf: (index) => `ipAddresses[${index}]` }
}

function hostAt(given: WireAddress, path: string, faults: ApiError[]): Address | undefined {
  const address = readAddress(given)
  const reason = typeof address === 'string' ? address : notAHost(address)
  if (reason !== undefined) faults.push(invalidField(path, reason))
  return typeof address === 'string' ? undefined : address
}
