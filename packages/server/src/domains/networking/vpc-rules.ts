/** Source: behaviour networking.md 1.1, 1.5. */
import type { BodyOf } from '@hyperplane/contract'
import type { Vpc } from '@hyperplane/contract/networking/vpc'
import type { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { formatAddress, formatPrefix, overlap, type Prefix, readAddress, writeAsGiven } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import type { Attachment } from './gateway-nodes.ts'
import { hostFaults, invalidField } from './ip-config.ts'
import { readSubnet, writeSubnetAsGiven } from './ip-subnet.ts'

export type VpcBody = BodyOf<typeof Vpc>

export function vpcFaults(body: VpcBody): ApiError[] {
  const servers = body.commonDhcpOptions?.domainNameServers ?? []
  return [
    ...(body.externalSubnets ?? []).flatMap((each, index) => attachmentFaults(each, `externalSubnets[${index}]`)),
    ...repeated(body.externalSubnets ?? [], ({ subnetReference }) => subnetReference).map((index) =>
      invalidField(`externalSubnets[${index}]/subnetReference`, 'expected each external subnet once'),
    ),
    ...prefixFaults(body.externallyRoutablePrefixes ?? []),
    ...servers.flatMap((server, index) => hostFaults(server, `commonDhcpOptions/domainNameServers[${index}]`)),
    ...repeated(body.kubernetesClusters ?? [], ({ extId }) => extId).map((index) =>
      invalidField(`kubernetesClusters[${index}]/extId`, 'expected each cluster once'),
    ),
  ]
}

function attachmentFaults(
  { externalIps = [], gatewayNodes, activeGatewayCount = 1 }: Attachment,
  path: string,
): ApiError[] {
  const faults = externalIps.flatMap((address, index) => hostFaults(address, `${path}/externalIps[${index}]`))
  const spelled = externalIps.map((given) => {
    const address = readAddress(given)
    return typeof address === 'string' ? Symbol(address) : formatAddress(address)
  })
  for (const index of repeated(spelled, (text) => text)) {
    faults.push(invalidField(`${path}/externalIps[${index}]`, 'expected each address once'))
  }
  for (const index of repeated(gatewayNodes ?? [], (node) => node)) {
    faults.push(invalidField(`${path}/gatewayNodes[${index}]`, 'expected each host once'))
  }
  if (gatewayNodes !== undefined && activeGatewayCount > gatewayNodes.length) {
    const most = `expected at most ${gatewayNodes.length}, the number of gatewayNodes, found ${activeGatewayCount}`
    faults.push(invalidField(`${path}/activeGatewayCount`, most))
  }
  return faults
}

function prefixFaults(given: NonNullable<VpcBody['externallyRoutablePrefixes']>): ApiError[] {
  const faults: ApiError[] = []
  const earlier: { readonly prefix: Prefix; readonly index: number }[] = []
  for (const [index, subnet] of given.entries()) {
    const path = `externallyRoutablePrefixes[${index}]`
    const prefix = readSubnet(subnet, path)
    if (!('first' in prefix)) {
      faults.push(...prefix)
      continue
    }
    const other = earlier.find((each) => each.prefix.family === prefix.family && overlap(each.prefix, prefix))
    if (other !== undefined) {
      const text = `${formatPrefix(prefix)} overlaps externallyRoutablePrefixes[${other.index}]`
      faults.push(invalidField(path, text))
    }
    earlier.push({ prefix, index })
  }
  return faults
}

function repeated<T>(items: readonly T[], keyOf: (item: T) => unknown): number[] {
  const seen = new Set<unknown>()
  return items.flatMap((item, index) => {
    const isRepeated = seen.has(keyOf(item))
    seen.add(keyOf(item))
    return isRepeated ? [index] : []
  })
}

export function attachedFaults(
  vpcType: VpcBody['vpcType'],
  vpcExtId: string,
  subnets: readonly SubnetEntity[],
): ApiError[] {
  const faults = subnets.flatMap((subnet, index) => {
    const path = `externalSubnets[${index}]/subnetReference`
    if (subnet.isExternal !== true) return [invalidField(path, `expected an external subnet, found ${subnet.name}`)]
    if (subnet.subnetType === 'VLAN') return []
    if (subnet.vpcReference === vpcExtId) return [invalidField(path, `${subnet.name} is a subnet of this VPC`)]
    return vpcType === 'TRANSIT'
      ? [invalidField(path, `expected a VLAN for a VPC of the type TRANSIT, found ${subnet.name}`)]
      : []
  })
  for (const index of repeated(subnets, ({ isNatEnabled }) => isNatEnabled === true)) {
    const text = 'expected at most one external subnet with NAT and one without'
    faults.push(invalidField(`externalSubnets[${index}]/subnetReference`, text))
  }
  return faults
}

/** Values in which the stored form of a valid body differs from the body. */
export function vpcConfigurationOf({ vpcType = 'REGULAR', externallyRoutablePrefixes, commonDhcpOptions }: VpcBody) {
  const domainNameServers = commonDhcpOptions?.domainNameServers?.map(writeAsGiven)
  return {
    vpcType,
    externallyRoutablePrefixes: externallyRoutablePrefixes?.map(writeSubnetAsGiven),
    commonDhcpOptions: commonDhcpOptions && defined({ ...commonDhcpOptions, domainNameServers }),
  }
}
