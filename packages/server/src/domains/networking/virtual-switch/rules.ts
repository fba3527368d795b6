/** Faults of the body of a virtual switch that need no stored state. Source: behaviour networking.md 1.18. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import type { ApiError } from '../../../core/api-error.ts'
import {
  formatPrefix,
  isInRange,
  notAHost,
  type Prefix,
  parseAddress,
  prefixLengthOf,
  prefixOf,
} from '../../../core/ip-address.ts'
import { invalidField } from '../ip-config.ts'

export type SwitchEntity = EntityOf<typeof VirtualSwitch>
export type SwitchBody = BodyOf<typeof VirtualSwitch>
export type SwitchCluster = SwitchEntity['clusters'][number]
export type SwitchHost = SwitchCluster['hosts'][number]

/** @param clusterId of the header X-Cluster-Id */
export function switchFaults({ bondMode, clusters, igmpSpec }: SwitchBody, clusterId: string | undefined): ApiError[] {
  const cluster = clusters[0] as SwitchCluster
  return [
    ...(clusterId === undefined || clusterId === cluster.extId
      ? []
      : [invalidField('X-Cluster-Id', `expected the cluster of the body, ${cluster.extId}, found ${clusterId}`)]),
    ...repeated(cluster.hosts.map(({ extId }) => extId)).map((index) =>
      invalidField(`clusters[0]/hosts[${index}]/extId`, 'names a host twice'),
    ),
    ...cluster.hosts.flatMap((host, index) => hostFaults(host, bondMode, `clusters[0]/hosts[${index}]`)),
    ...addressFaults(cluster),
    ...(igmpSpec?.querierSpec?.isQuerierEnabled === true && igmpSpec.isSnoopingEnabled !== true
      ? [invalidField('igmpSpec/querierSpec/isQuerierEnabled', 'expected only with isSnoopingEnabled')]
      : []),
  ]
}

const repeated = (values: readonly string[]): readonly number[] =>
  values.flatMap((value, index) => (values.indexOf(value) < index ? index : []))

function hostFaults({ hostNics = [] }: SwitchHost, bondMode: SwitchBody['bondMode'], path: string): ApiError[] {
  return [
    ...repeated(hostNics).map((index) => invalidField(`${path}/hostNics[${index}]`, 'names a NIC twice')),
    ...(bondMode === 'NONE' && hostNics.length > 1
      ? [invalidField(`${path}/hostNics`, `expected at most one NIC with the bond mode NONE, found ${hostNics.length}`)]
      : []),
  ]
}

/** Addresses of the hosts are in one subnet, together with the gateway. */
function addressFaults({ hosts, gatewayIpAddress }: SwitchCluster): ApiError[] {
  const faults: ApiError[] = []
  let subnet: Prefix | undefined
  const taken = new Set<string>()
  for (const [index, { ipAddress }] of hosts.entries()) {
    if (ipAddress === undefined) continue
    const path = `clusters[0]/hosts[${index}]/ipAddress`
    const address = parseAddress('IPV4', ipAddress.ip.value)
    const reason = address === undefined ? 'expected an IPv4 address' : notAHost(address)
    if (address === undefined || reason !== undefined) {
      faults.push(invalidField(`${path}/ip`, reason ?? 'expected an IPv4 address'))
      continue
    }
    const own = prefixOf(address, prefixLengthOf('IPV4', ipAddress))
    subnet ??= own
    if (formatPrefix(own) !== formatPrefix(subnet))
      faults.push(
        invalidField(path, `expected an address in ${formatPrefix(subnet)}, as of the first host with an address`),
      )
    if (taken.has(ipAddress.ip.value)) faults.push(invalidField(`${path}/ip`, 'is the address of another host'))
    taken.add(ipAddress.ip.value)
  }
  return [...faults, ...gatewayFaults(gatewayIpAddress?.value, subnet, taken)]
}

function gatewayFaults(
  gateway: string | undefined,
  subnet: Prefix | undefined,
  taken: ReadonlySet<string>,
): ApiError[] {
  if (gateway === undefined) return []
  const path = 'clusters[0]/gatewayIpAddress'
  const address = parseAddress('IPV4', gateway)
  if (address === undefined) return [invalidField(path, 'expected an IPv4 address')]
  if (subnet === undefined) return [invalidField(path, 'expected only where a host has an ipAddress')]
  if (!isInRange(subnet, address.value)) return [invalidField(path, `expected an address in ${formatPrefix(subnet)}`)]
  return taken.has(gateway) ? [invalidField(path, 'is the address of a host')] : []
}
