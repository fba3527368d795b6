/** A local appliance, or a remote device. Source: catalogue networking.json; behaviour networking.md 1.9, 2. */
import { names } from '../names.ts'
import { action, create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress, IPAddressOrFQDN } from '../shapes.ts'
import { gatewayReaders, gatewayWriters, slowMutationRate } from './roles.ts'
import {
  autonomousSystemNumber,
  changeHolding,
  descriptionText,
  EntityMetadata,
  IPSubnet,
  nameText,
  ownAttributes,
  State,
  Status,
} from './shapes.ts'
import { Vpc } from './vpc.ts'

const vxlanPort = () => s.integer({ minimum: 1, maximum: 49151 })

export const HighAvailabilityGroup = s.object('networking.v4.config.HighAvailabilityGroup', {
  isHaEnabled: s.optional(s.boolean()),
  algorithm: s.optional(s.enumeration(['ACTIVE_BACKUP'])),
  peeredGateways: s.readOnly(
    s.arrayOf(
      s.object('networking.v4.config.PeeredGateway', { extId: s.optional(s.uuid()), status: s.optional(Status) }),
    ),
  ),
})

const BgpConfig = s.object('networking.v4.config.BgpConfig', {
  asn: s.optional(autonomousSystemNumber()),
  password: s.secret(s.text()),
  shouldRedistributeRoutes: s.withDefault(s.boolean(), false),
})
const InternalRoutingConfig = s.object('networking.v4.config.InternalRoutingConfig', {
  localPrefixList: s.optional(s.arrayOf(IPSubnet, { maxItems: 250 })),
  ibgpConfigList: s.optional(
    s.arrayOf(
      s.object('networking.v4.config.IbgpConfig', {
        asn: s.optional(autonomousSystemNumber()),
        peerIp: s.optional(IPAddress),
        password: s.secret(s.text()),
        shouldRedistributeRoutes: s.withDefault(s.boolean(), false),
      }),
      { maxItems: 32 },
    ),
  ),
  ospfConfig: s.optionalObject('networking.v4.config.OspfConfig', {
    areaId: s.optional(
      s.text({
        pattern: '^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$',
      }),
    ),
    authenticationType: s.optional(s.enumeration(['PLAIN_TEXT', 'MD5'])),
    password: s.secret(s.text()),
  }),
})

/** Exactly one of the three services. */
/** Exactly one of the three services. */
export const LocalNetworkServices = s.object('networking.v4.config.LocalNetworkServices', {
  localBgpService: s.optionalObject('networking.v4.config.LocalBgpService', {
    asn: autonomousSystemNumber(),
    vpcReference: s.immutable(s.optional(s.referenceTo('Vpc'))),
    isBgpAddPathEnabled: s.withDefault(s.boolean(), false),
  }),
  localVpnService: s.optionalObject('networking.v4.config.LocalVpnService', {
    ebgpConfig: s.optional(BgpConfig),
    peerIgpConfig: s.optional(InternalRoutingConfig),
  }),
  localVtepService: s.optionalObject('networking.v4.config.LocalVtepService', {
    vxlanPort: s.withDefault(vxlanPort(), 4789),
  }),
  serviceAddress: s.readOnly(IPAddress),
  serviceAddresses: s.readOnly(s.arrayOf(IPAddress)),
})

export const RemoteNetworkServices = s.object('networking.v4.config.RemoteNetworkServices', {
  remoteBgpService: s.optionalObject('networking.v4.config.RemoteBgpService', {
    address: IPAddress,
    asn: autonomousSystemNumber(),
  }),
  remoteVpnService: s.optionalObject('networking.v4.config.RemoteVpnService', {
    serviceAddress: s.optional(IPAddress),
    ebgpConfig: s.optional(BgpConfig),
    peerIgpConfig: s.optional(InternalRoutingConfig),
    shouldInstallXiRoute: s.withDefault(s.boolean(), false),
  }),
  remoteVtepService: s.optionalObject('networking.v4.config.RemoteVtepService', {
    vteps: s.optional(
      s.arrayOf(s.object('networking.v4.config.Vtep', { address: s.optional(IPAddress) }), { maxItems: 10 }),
    ),
    vxlanPort: s.withDefault(vxlanPort(), 4789),
  }),
})

export const GatewayDeployment = s.object('networking.v4.config.GatewayDeployment', {
  clusterReference: s.immutable(s.optional(s.referenceTo('Cluster'))),
  managementInterface: s.optionalObject('networking.v4.config.GatewayManagementInterface', {
    subnetReference: s.optional(s.referenceTo('Subnet')),
    vlanId: s.optional(s.integer({ minimum: 0, maximum: 4095 })),
    address: s.optional(IPAddress),
    defaultGateway: s.optional(IPAddress),
    mtu: s.readOnly(s.integer()),
  }),
  interfaces: s.readOnly(
    s.arrayOf(
      s.object('networking.v4.config.GatewayInterface', {
        subnetReference: s.optional(s.uuid()),
        ipAddress: s.optional(IPAddress),
        defaultGatewayAddress: s.optional(IPAddress),
        macAddress: s.optional(s.text()),
        mtu: s.optional(s.integer()),
      }),
    ),
  ),
  dnsServers: s.optional(s.arrayOf(IPAddress)),
  ntpServers: s.optional(s.arrayOf(IPAddressOrFQDN)),
  shouldSynchronizeSystemDnsServers: s.withDefault(s.boolean(), false),
  shouldSynchronizeSystemNtpServers: s.withDefault(s.boolean(), false),
  vcenterDatastoreName: s.optional(s.text()),
})

const ApplianceVm = s.object('networking.v4.config.Vm', { name: s.optional(s.text()) })

export const Gateway = resource('networking.v4.config.Gateway', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    services: s.oneOf(RemoteNetworkServices, LocalNetworkServices),
    vpcReference: s.immutable(s.optional(s.referenceTo('Vpc'))),
    vpc: s.readOnly(Vpc.schema),
    deployment: s.optional(GatewayDeployment),
    cloudNetworkReference: s.optional(s.uuid()),
    gatewayDeviceVendor: s.optional(s.text()),
    highAvailabilityGroup: s.optional(HighAvailabilityGroup),
    /** The appliance of a local gateway, which no list of VMs shows. */
    vmReference: s.readOnly(s.uuid()),
    vm: s.readOnly(ApplianceVm),
    installedSoftwareVersion: s.readOnly(s.text()),
    supportedSoftwareVersion: s.readOnly(s.text()),
    isActive: s.readOnly(s.boolean()),
    status: s.readOnly(Status),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    /** `addresses`: of the interfaces that the update will set. */
    change: changeHolding({ addresses: s.optional(s.arrayOf(s.text())) }),
    /** Progress of the task that restarts the appliance on another host. */
    recovery: s.optional(State),
  },
  iam: { ...ownAttributes, vpc_uuid: 'vpcReference' },
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
  ofCluster: { stays: 'a gateway keeps the cluster that it names registered' },
})

const mutation = { roles: gatewayWriters, rateLimit: slowMutationRate }
const view = { roles: gatewayReaders }

export const gatewayOperations = {
  listGateways: list('/config/gateways', Gateway, {
    ...view,
    filter: names(`
      cloudNetworkReference, extId, gatewayDeviceVendor, installedSoftwareVersion, name, supportedSoftwareVersion,
      vmReference, vpcReference
    `),
    orderby: ['name'],
    expand: { vm: { shape: ApplianceVm }, vpc: { kind: 'Vpc', by: 'vpcReference' } },
  }),
  createGateway: create('/config/gateways', Gateway, mutation),
  getGatewayById: get('/config/gateways/{extId}', Gateway, view),
  updateGatewayById: update('/config/gateways/{extId}', Gateway, mutation),
  deleteGatewayById: remove('/config/gateways/{extId}', Gateway, mutation),
  upgradeGatewayById: action('/config/gateways/{extId}/$actions/upgrade', {
    ...mutation,
    of: Gateway,
    deployments: ['on-prem'],
  }),
}
