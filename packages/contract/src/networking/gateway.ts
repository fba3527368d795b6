/**
 * A local service appliance (BGP, VPN or VTEP), or the description of a remote device.
 * Source: catalogue networking.json; behaviour networking.md 1.9.
 */
import { resource } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  immutable,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  referenceTo,
  secret,
  text,
  uuid,
  visibleWith,
  withDefault,
} from '../schema.ts'
import { IPAddress, IPAddressOrFQDN } from '../shapes.ts'
import { autonomousSystemNumber, descriptionText, EntityMetadata, IPSubnet, nameText, Status } from './shapes.ts'
import { Vpc } from './vpc.ts'

const vxlanPort = () => integer({ minimum: 1, maximum: 49151 })

export const HighAvailabilityGroup = object('networking.v4.config.HighAvailabilityGroup', {
  isHaEnabled: optional(boolean()),
  algorithm: optional(enumeration(['ACTIVE_BACKUP'])),
  peeredGateways: readOnly(
    arrayOf(
      object('networking.v4.config.PeeredGateway', {
        extId: optional(uuid()),
        status: optional(Status),
      }),
    ),
  ),
})

const BgpConfig = object('networking.v4.config.BgpConfig', {
  asn: optional(autonomousSystemNumber()),
  password: secret(text()),
  shouldRedistributeRoutes: withDefault(boolean(), false),
})
const InternalRoutingConfig = object('networking.v4.config.InternalRoutingConfig', {
  localPrefixList: optional(arrayOf(IPSubnet, { maxItems: 250 })),
  ibgpConfigList: optional(
    arrayOf(
      object('networking.v4.config.IbgpConfig', {
        asn: optional(autonomousSystemNumber()),
        peerIp: optional(IPAddress),
        password: secret(text()),
        shouldRedistributeRoutes: withDefault(boolean(), false),
      }),
      { maxItems: 32 },
    ),
  ),
  ospfConfig: optional(
    object('networking.v4.config.OspfConfig', {
      areaId: optional(
        text({
          pattern: '^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$',
        }),
      ),
      authenticationType: optional(enumeration(['PLAIN_TEXT', 'MD5'])),
      password: secret(text()),
    }),
  ),
})

/** Exactly one of the three services. */
export const LocalNetworkServices = object('networking.v4.config.LocalNetworkServices', {
  localBgpService: optional(
    object('networking.v4.config.LocalBgpService', {
      asn: autonomousSystemNumber(),
      vpcReference: optional(referenceTo('Vpc')),
      isBgpAddPathEnabled: withDefault(boolean(), false),
    }),
  ),
  localVpnService: optional(
    object('networking.v4.config.LocalVpnService', {
      ebgpConfig: optional(BgpConfig),
      peerIgpConfig: optional(InternalRoutingConfig),
    }),
  ),
  localVtepService: optional(
    object('networking.v4.config.LocalVtepService', { vxlanPort: withDefault(vxlanPort(), 4789) }),
  ),
  serviceAddress: readOnly(IPAddress),
  serviceAddresses: readOnly(arrayOf(IPAddress)),
})

/** Exactly one of the three services. */
export const RemoteNetworkServices = object('networking.v4.config.RemoteNetworkServices', {
  remoteBgpService: optional(
    object('networking.v4.config.RemoteBgpService', { address: IPAddress, asn: autonomousSystemNumber() }),
  ),
  remoteVpnService: optional(
    object('networking.v4.config.RemoteVpnService', {
      serviceAddress: optional(IPAddress),
      ebgpConfig: optional(BgpConfig),
      peerIgpConfig: optional(InternalRoutingConfig),
      shouldInstallXiRoute: withDefault(boolean(), false),
    }),
  ),
  remoteVtepService: optional(
    object('networking.v4.config.RemoteVtepService', {
      vteps: optional(arrayOf(object('networking.v4.config.Vtep', { address: optional(IPAddress) }), { maxItems: 10 })),
      vxlanPort: withDefault(vxlanPort(), 4789),
    }),
  ),
})

export const GatewayDeployment = object('networking.v4.config.GatewayDeployment', {
  clusterReference: immutable(optional(referenceTo('Cluster'))),
  managementInterface: optional(
    object('networking.v4.config.GatewayManagementInterface', {
      subnetReference: optional(referenceTo('Subnet')),
      vlanId: optional(integer({ minimum: 0, maximum: 4095 })),
      address: optional(IPAddress),
      defaultGateway: optional(IPAddress),
      mtu: readOnly(integer()),
    }),
  ),
  interfaces: readOnly(
    arrayOf(
      object('networking.v4.config.GatewayInterface', {
        subnetReference: optional(uuid()),
        ipAddress: optional(IPAddress),
        defaultGatewayAddress: optional(IPAddress),
        macAddress: optional(text()),
        mtu: optional(integer()),
      }),
    ),
  ),
  dnsServers: optional(arrayOf(IPAddress)),
  ntpServers: optional(arrayOf(IPAddressOrFQDN)),
  shouldSynchronizeSystemDnsServers: withDefault(boolean(), false),
  shouldSynchronizeSystemNtpServers: withDefault(boolean(), false),
  vcenterDatastoreName: optional(text()),
})

export const Gateway = resource(
  'networking.v4.config.Gateway',
  {
    name: nameText(),
    description: optional(descriptionText()),
    services: optional(oneOf(RemoteNetworkServices, LocalNetworkServices)),
    vpcReference: immutable(optional(referenceTo('Vpc'))),
    /** Present when expanded. */
    vpc: readOnly(Vpc.schema),
    deployment: optional(GatewayDeployment),
    cloudNetworkReference: optional(uuid()),
    gatewayDeviceVendor: optional(text()),
    highAvailabilityGroup: optional(HighAvailabilityGroup),
    /** The appliance, hidden from VM lists. */
    vmReference: readOnly(uuid()),
    vm: visibleWith('Vm', 'vmReference', readOnly(object('networking.v4.config.Vm', { name: optional(text()) }))),
    installedSoftwareVersion: readOnly(text()),
    supportedSoftwareVersion: readOnly(text()),
    isActive: readOnly(boolean()),
    status: readOnly(Status),
    metadata: optional(EntityMetadata),
  },
  {
    iam: {
      name: 'gateway',
      attributes: {
        category_uuid: 'metadata/categoryIds',
        name: 'name',
        owner_uuid: 'metadata/ownerReferenceId',
        project_uuid: 'metadata/projectReferenceId',
        vpc_uuid: 'vpcReference',
      },
    },
    rel: 'networking:config:gateway',
    notFound: 'NETWORKING_ENTITY_NOT_FOUND',
    gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
    ofCluster: { stays: 'a gateway keeps the cluster that it names registered' },
  },
)
