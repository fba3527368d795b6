import { arrayOf, boolean, enumeration, integer, object, oneOf, optional, text } from '@hyperplane/contract'
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { Listener, LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { RoutingPolicyAction } from '@hyperplane/contract/networking/routing-policy'
import { autonomousSystemNumber } from '@hyperplane/contract/networking/shapes'
import { DhcpOptions, Subnet as Stored } from '@hyperplane/contract/networking/subnet'
import { Vpc as StoredVpc } from '@hyperplane/contract/networking/vpc'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { allOptional, readable, written } from '../readable.ts'
import { about, address, categories, description, name, named, prefix } from './words.ts'

export const Controller = object(
  '',
  written(NetworkController.schema.fields, 'cloudSubstrate', 'defaultVlanStack', 'vpcGlobalConfig'),
)

const ExternalSubnet = object('', {
  subnet: name(),
  externalIps: optional(
    about('Ports of its router. Default: the lowest free one.', arrayOf(address(), { maxItems: 4 })),
  ),
  activeGatewayCount: optional(integer({ minimum: 1, maximum: 4 })),
})

export const Vpc = object('', {
  ...named(128),
  vpcType: optional(enumeration(['REGULAR', 'TRANSIT'])),
  description: description(),
  externalSubnets: optional(
    about('Subnets through which it reaches the outside.', arrayOf(oneOf(name(), ExternalSubnet), { maxItems: 2 })),
  ),
  externallyRoutablePrefixes: optional(arrayOf(prefix(), { maxItems: 16 })),
  ...written(StoredVpc.schema.fields, 'commonDhcpOptions', 'externalRoutingDomainReference'),
  categories: categories(),
})

const pools = (pattern: string) =>
  optional(
    about(
      'first-last; default: all from the tenth address on.',
      arrayOf(text({ minLength: 5, maxLength: 92, pattern }), { maxItems: 8 }),
    ),
  )

const Reserved = object('', {
  clientContext: optional(about('What finds them again.', name(256))),
  count: optional(about('So many, the lowest free ones.', integer({ minimum: 1, maximum: 1000 }))),
  startIpAddress: optional(about('From here on.', address())),
  ipAddresses: optional(about('Or these.', arrayOf(address(), { minItems: 1, maxItems: 255 }))),
})

export const Subnet = object('', {
  ...named(128),
  description: description(),
  cluster: optional(about('Of a VLAN. Default: the only native one.', name())),
  virtualSwitch: optional(about('Of a VLAN. Default: the default one of its cluster.', name())),
  networkId: optional(about('VLAN tag; of several, the first one.', integer({ minimum: 0, maximum: 4095 }))),
  vpc: optional(about('Makes it an overlay subnet of this VPC.', name())),
  ipSubnet: optional(
    about('Its prefix; of several, that of the first one. Without it its addresses are not managed.', prefix()),
  ),
  defaultGatewayIp: optional(about('Default: the first address.', address())),
  dhcpServerAddress: optional(address()),
  poolList: pools('^[0-9.]+ *- *[0-9.]+$'),
  ipv6: optional(
    about(
      'Its second family.',
      object('', {
        ipSubnet: prefix(),
        defaultGatewayIp: optional(address()),
        poolList: pools('^[0-9a-fA-F:]+ *- *[0-9a-fA-F:]+$'),
      }),
    ),
  ),
  ...written(DhcpOptions.fields, 'bootFileName', 'ntpServers', 'searchDomains', 'tftpServerName'),
  domainName: optional(name()),
  domainNameServers: optional(arrayOf(address(), { maxItems: 8 })),
  isExternal: optional(boolean()),
  isNatEnabled: optional(boolean()),
  ...written(Stored.schema.fields, 'isAdvancedNetworking'),
  reservedIps: optional(about('Addresses that are never assigned.', arrayOf(Reserved, { maxItems: 64 }))),
  categories: categories(),
})

const match = (what: string) => optional(about(`${what}: ANY (the default), EXTERNAL, or a prefix.`, name(49)))
const octet = () => optional(integer({ minimum: 0, maximum: 255 }))
const port = () => integer({ minimum: 0, maximum: 65_535 })
const portRange = () => oneOf(port(), text({ pattern: '^[0-9]{1,5} *- *[0-9]{1,5}$' }))
const ports = () => optional(about('Numbers, or first-last.', arrayOf(portRange(), { maxItems: 20 })))

export const RoutingPolicy = object('', {
  ...named(128),
  vpc: name(),
  description: description(),
  priority: about('From 10 on; the highest that matches decides.', integer({ minimum: 1, maximum: 1000 })),
  source: match('Where packets come from'),
  destination: match('Where they go'),
  protocolType: optional(about('Default: ANY.', enumeration(['ANY', 'ICMP', 'TCP', 'UDP', 'PROTOCOL_NUMBER']))),
  icmpType: octet(),
  icmpCode: octet(),
  protocolNumber: octet(),
  sourcePortRanges: ports(),
  destinationPortRanges: ports(),
  ...written(RoutingPolicyAction.fields, 'actionType', 'nexthopIpAddress', 'rerouteParams'),
  isBidirectional: optional(boolean()),
})

export const Route = object('', {
  ...named(128),
  vpc: name(),
  description: description(),
  destination: prefix(),
  externalSubnet: optional(about('Where packets leave the VPC; or one of the next two.', name())),
  localSubnet: optional(about('A subnet of the VPC.', name())),
  nexthopIpAddress: optional(about('A router in a subnet that the VPC reaches.', address())),
})

const softwareVersion = () => text({ pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+$' })

export const Gateway = object('', {
  ...named(128),
  description: description(),
  vpc: optional(about('Of a local one: the VPC that it speaks for.', name())),
  service: optional(about('Default: BGP.', enumeration(['BGP', 'VPN', 'VTEP']))),
  asn: optional(about('Its autonomous system. A VPN service without one has no eBGP.', autonomousSystemNumber())),
  address: optional(about('Address of a device of another owner.', address())),
  isHaEnabled: optional(about('Of a local VTEP service: it replaces others of its VPC when they fail.', boolean())),
  softwareVersion: optional(about('Of a local one: what its appliance runs; default: the newest.', softwareVersion())),
})

export const Session = object('', {
  ...named(128),
  description: description(),
  localGateway: name(),
  remoteGateway: name(),
  ...written(
    BgpSession.schema.fields,
    'advertisedRoutesCommunities',
    'dynamicRoutePriority',
    'externallyRoutablePrefixesToAdvertise',
    'localGatewayInterfaceIpAddress',
    'prependedAutonomousSystemPath',
    'shouldAdvertiseAllExternallyRoutablePrefixes',
  ),
})

export const Connection = object('', {
  ...named(128),
  description: description(),
  localGateway: name(),
  remoteGateway: name(),
  ...allOptional(
    written(
      VpnConnection.schema.fields,
      'dpdConfig',
      'dynamicRoutePriority',
      'ipsecConfig',
      'localGatewayRole',
      'qosConfig',
    ),
  ),
})

export const Stretch = object('', {
  ...named(128),
  description: description(),
  subnet: name(),
  gateway: optional(about('A local VTEP gateway;', name())),
  vpnConnection: optional(about('or a VPN connection.', name())),
  site: about('The manager of the other side.', name()),
  remoteSubnet: about('A subnet of that manager.', name()),
  remoteGateway: optional(about('A remote VTEP gateway here, or a VTEP gateway of that manager;', name())),
  remoteVpnConnection: optional(about('or a VPN connection of that manager.', name())),
  stretchInterfaceIpAddress: optional(about('Default: the lowest free one.', address())),
  ...allOptional(written(Layer2Stretch.schema.fields, 'mtu', 'vni')),
})

export const Balancer = object('', {
  ...named(128),
  description: description(),
  vpc: name(),
  subnet: about('A subnet of the VPC, which has the virtual IP.', name()),
  ipAddress: optional(about('Default: the lowest free one.', address())),
  ...written(Listener.fields, 'protocol'),
  portRanges: about('Numbers, or first-last.', arrayOf(portRange(), { minItems: 1, maxItems: 20 })),
  vms: optional(about('The first NIC of each in the VPC is a target.', arrayOf(name(), { maxItems: 64 }))),
  categories: optional(about('VMs with all these are targets, as key/value.', arrayOf(name(), { maxItems: 10 }))),
  targetPort: optional(about('Default: the port of the listener.', integer({ minimum: 1, maximum: 65_535 }))),
  healthCheckConfig: optional(readable(LoadBalancerSession.schema.fields.healthCheckConfig)),
})
