/** Faults of a body alone. Source: behaviour networking.md 1.9. */
import { ApiError } from '../../../core/api-error.ts'
import type { RuleContext } from '../../../core/handlers.ts'
import { textOf } from '../../../core/ip-address.ts'
import { hostFaults, invalidField } from '../ip-config.ts'
import {
  type GatewayBody,
  type Local,
  localOf,
  localServices,
  type Remote,
  remoteOf,
  remoteServices,
  servicesOf,
  vpcOf,
} from './entity.ts'
import { interiorFaults, missingPasswordFaults } from './interior.ts'

export function gatewayFaults(body: GatewayBody, { id, verb }: RuleContext['operation']): readonly ApiError[] {
  const unbuilt = unbuiltFault(id, body)
  if (unbuilt !== undefined) return [unbuilt]
  const found = servicesOf(body)
  const isLocal = localOf(body) !== undefined
  if (found.length !== 1) {
    const expected = (isLocal ? localServices : remoteServices).join(', ')
    return [invalidField('services', `expected exactly one of ${expected}, found ${found.join(' and ') || 'none'}`)]
  }
  const remote = remoteOf(body)
  return [
    ...(remote === undefined ? localFaults(body, localOf(body) as Local) : remoteFaults(body, remote)),
    // An update may keep the stored password: it is judged later.
    ...(verb === 'create' ? missingPasswordFaults(body) : []),
  ]
}

function localFaults(body: GatewayBody, { localBgpService }: Local): readonly ApiError[] {
  const { deployment, gatewayDeviceVendor, vpcReference } = body
  const faults = [...deploymentFaults(deployment ?? {}), ...interiorFaults(body)]
  if (gatewayDeviceVendor !== undefined)
    faults.push(
      invalidField('gatewayDeviceVendor', 'expected none: a local gateway is an appliance of this deployment'),
    )
  const vpc = localBgpService?.vpcReference
  if (vpc !== undefined && vpcReference !== undefined && vpc !== vpcReference)
    faults.push(invalidField('services/localBgpService/vpcReference', `expected ${vpcReference}, as in vpcReference`))
  const hasVpc = vpcOf(body) !== undefined
  const isOnVlan = deployment?.managementInterface !== undefined
  if (localBgpService !== undefined && !hasVpc)
    faults.push(invalidField('vpcReference', 'is required for a BGP service'))
  else if (hasVpc === isOnVlan)
    faults.push(
      invalidField(
        'vpcReference',
        `expected either a VPC or deployment/managementInterface, found ${hasVpc ? 'both' : 'neither'}`,
      ),
    )
  return faults
}

function deploymentFaults({
  dnsServers,
  managementInterface,
  ntpServers,
}: NonNullable<GatewayBody['deployment']>): readonly ApiError[] {
  const faults: ApiError[] = []
  for (const [index, address] of (dnsServers ?? []).entries())
    faults.push(...hostFaults(address, `deployment/dnsServers[${index}]`))
  for (const [index, { ipv4, ipv6, fqdn }] of (ntpServers ?? []).entries())
    if (fqdn === undefined || ipv4 !== undefined || ipv6 !== undefined)
      faults.push(...hostFaults({ ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) }, `deployment/ntpServers[${index}]`))
  if (managementInterface === undefined) return faults
  const path = 'deployment/managementInterface'
  const { subnetReference, vlanId, address, defaultGateway } = managementInterface
  if ((subnetReference === undefined) === (vlanId === undefined))
    faults.push(invalidField(path, 'expected exactly one of subnetReference and vlanId'))
  if (address !== undefined) faults.push(...hostFaults(address, `${path}/address`))
  if (defaultGateway !== undefined) faults.push(...hostFaults(defaultGateway, `${path}/defaultGateway`))
  return faults
}

function remoteFaults(body: GatewayBody, services: Remote): readonly ApiError[] {
  const { remoteBgpService, remoteVpnService, remoteVtepService } = services
  const faults: ApiError[] = []
  for (const name of ['deployment', 'vpcReference'] as const)
    if (body[name] !== undefined) faults.push(invalidField(name, 'expected none for a remote gateway'))
  if (remoteBgpService !== undefined)
    faults.push(...hostFaults(remoteBgpService.address, 'services/remoteBgpService/address'))
  if (remoteVpnService !== undefined) {
    faults.push(...required(remoteVpnService.serviceAddress, 'services/remoteVpnService/serviceAddress'))
    faults.push(...interiorFaults(body))
  }
  if (remoteVtepService !== undefined) faults.push(...vtepFaults(remoteVtepService.vteps ?? []))
  return faults
}

function vtepFaults(vteps: NonNullable<NonNullable<Remote['remoteVtepService']>['vteps']>): readonly ApiError[] {
  const path = 'services/remoteVtepService/vteps'
  if (vteps.length === 0) return [invalidField(path, 'expected 1 to 10 VTEPs, found none')]
  const texts = vteps.map(({ address }) => textOf(address))
  return vteps.flatMap(({ address }, index) => {
    const faults = required(address, `${path}[${index}]/address`)
    const isRepeated = texts[index] !== undefined && texts.indexOf(texts[index]) < index
    return isRepeated ? [invalidField(`${path}[${index}]/address`, `${texts[index]} is in the list already`)] : faults
  })
}

const required = (address: Parameters<typeof hostFaults>[0] | undefined, path: string): readonly ApiError[] =>
  address === undefined ? [invalidField(path, 'is required')] : hostFaults(address, path)

/** A 501 that names the first field without behaviour. */
function unbuiltFault(operation: string, body: GatewayBody): ApiError | undefined {
  const unbuilt =
    (body.cloudNetworkReference !== undefined && 'cloudNetworkReference') ||
    (body.deployment?.vcenterDatastoreName !== undefined && 'deployment/vcenterDatastoreName')
  return unbuilt ? new ApiError('NOT_IMPLEMENTED', { operation: `${operation} with ${unbuilt}` }) : undefined
}
