import { arrayOf, boolean, enumeration, integer, object, oneOf, optional, text, uuid } from '@hyperplane/contract'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { slotsOfHost } from '../../drivers/simulated/drives.ts'
import { nicModelIds } from '../../drivers/simulated/nic-models.ts'
import { allOptional, written } from '../readable.ts'
import { about, address, categories, description, GiB, largestCount, name, named, names, prefix } from './words.ts'

/** Settings of clusters and profiles, in the form of profiles. Keys of SNMP users are generated. */
export const settings = written(
  ClusterProfile.schema.fields,
  'nameServerIpList',
  'nfsSubnetWhitelist',
  'ntpServerConfigList',
  'ntpServerIpList',
  'pulseStatus',
  'rsyslogServerList',
  'smtpServer',
  'snmpConfig',
)

const Drive = object('', {
  tier: enumeration(['SSD_PCIE', 'SSD_SATA', 'DAS_SATA', 'SSD_MEM_NVME']),
  count: optional(about('So many of them.', integer({ minimum: 1, maximum: slotsOfHost }))),
  sizeBytes: optional(
    about(
      'Default: 3.84 TB of SSD_PCIE, 1.92 TB of SSD_SATA, 4 TB of DAS_SATA, 750 GB of SSD_MEM_NVME.',
      integer({ minimum: 1_000_000_000, maximum: 1_000_000_000_000_000 }),
    ),
  ),
})

const drives = arrayOf(Drive, { minItems: 1, maxItems: slotsOfHost })

const Host = object('', {
  name: name(63),
  extId: optional(uuid()),
  address: optional(address()),
  cvmAddress: optional(address()),
  bmcAddress: optional(address()),
  memoryGiB: optional(GiB(16_384)),
  gpuList: optional(
    about('A name with "virtual" is that of a card which VMs share. Example: Compute GPU 24 GiB.', names(16)),
  ),
  pcieDevices: optional(about('Names of devices that VMs may have entirely.', names(16))),
  nics: optional(
    about(
      'PCI ids of eth0, eth1 and so on. Default: six, of which only eth5 has virtual functions.',
      arrayOf(enumeration(nicModelIds), { minItems: 1, maxItems: 32 }),
    ),
  ),
  drives: optional(about('In the order of their slots. Default: hostDrives of the cluster.', drives)),
  categories: categories(),
})

/** A machine of no cluster. */
export const Node = object('', {
  ...named(63),
  address: about('Of its hypervisor.', address()),
  cvmAddress: about('Of its controller VM, which a discovery finds.', address()),
  bmcAddress: optional(address()),
  hypervisorType: optional(about('Default: AHV, the native one.', enumeration(['AHV', 'ESX']))),
  hypervisorVersion: optional(about('Default: that of the clusters of a preset.', text({ maxLength: 64 }))),
  softwareVersion: optional(
    about('Of the cluster software. Default: that of the clusters of a preset.', text({ maxLength: 64 })),
  ),
  memoryGiB: optional(GiB(16_384)),
  block: optional(about('Name of the chassis; four nodes share one. Default: the same for all.', name(64))),
  rackName: optional(name(64)),
  gpuList: Host.fields.gpuList,
  pcieDevices: Host.fields.pcieDevices,
  nics: Host.fields.nics,
  drives: optional(about('In the order of their slots. Default: as hosts of a native cluster.', drives)),
})

const DataStore = object('', {
  datastoreName: optional(about('Default: the name of the container.', name())),
  hosts: optional(about('Default: all hosts of the cluster.', names(64))),
  isReadOnly: optional(boolean()),
  targetPath: optional(text({ maxLength: 1024 })),
})

const Container = object('', {
  name: about('default: the one that each cluster has.', name(75)),
  extId: optional(uuid()),
  logicalAdvertisedCapacityGiB: optional(GiB(largestCount)),
  logicalExplicitReservedCapacityGiB: optional(GiB(largestCount)),
  ...written(
    StorageContainer.schema.fields,
    'affinityHostExtId',
    'cacheDeduplication',
    'compressionDelaySecs',
    'erasureCode',
    'erasureCodeDelaySecs',
    'externalStorageExtId',
    'hasHigherEcFaultDomainPreference',
    'isCompressionEnabled',
    'isInlineEcEnabled',
    'isInternal',
    'isNfsWhitelistInherited',
    'isShared',
    'isSoftwareEncryptionEnabled',
    'nfsWhitelistAddress',
    'onDiskDedup',
    'replicationFactor',
  ),
  datastores: optional(
    about(
      'Of an external cluster: where it is mounted. {}: on all hosts, by its name.',
      arrayOf(DataStore, { maxItems: 16 }),
    ),
  ),
})

const CloudSubnet = object('', {
  cidr: prefix(),
  vpc: about('Any name: those of one name are in one VPC of the cloud.', name(64)),
  availabilityZone: optional(about('Default: eu-central-1a.', name(64))),
  annotation: optional(name()),
})

export const Cluster = object('', {
  ...named(64),
  hypervisorType: optional(about('Default: AHV, the native one.', enumeration(['AHV', 'ESX']))),
  cloudType: optional(about('Hosted by a cloud, on machines without BMCs.', enumeration(['AWS', 'AZURE']))),
  cloudSubnets: optional(about('The subnets of its cloud account.', arrayOf(CloudSubnet, { maxItems: 1000 }))),
  address: optional(about('Default: one of a /22 of 10.64.0.0/10 that the cluster has alone.', address())),
  dataServicesAddress: optional(address()),
  vcenterAddress: optional(about('Of an external one: its management server.', address())),
  hosts: optional(
    about(
      'How many (default 3), or each of them.',
      oneOf(integer({ minimum: 1, maximum: 64 }), arrayOf(Host, { minItems: 1, maxItems: 64 })),
    ),
  ),
  hostMemoryGiB: optional(about('Memory of hosts that say nothing else. Default 768.', GiB(16_384))),
  hostDrives: optional(
    about(
      'Drives of hosts that say nothing else, in the order of their slots. Default: two SSD_SATA and four DAS_SATA; in a cloud, four SSD_PCIE.',
      drives,
    ),
  ),
  containers: optional(
    about('Storage containers beside the one called default.', arrayOf(oneOf(name(75), Container), { maxItems: 64 })),
  ),
  settings: optional(about('As a profile writes them.', object('', settings))),
  isRegistered: optional(
    about('false: it is in the world with all that is on it, and waits to be registered.', boolean()),
  ),
  categories: categories(),
})

export const Profile = object('', {
  ...named(64),
  description: description(),
  clusters: optional(about('Those that follow it.', names(400))),
  ...written(ClusterProfile.schema.fields, 'allowedOverrides'),
  ...settings,
})

export const Switch = object('', {
  ...named(128),
  description: description(),
  cluster: optional(about('Default: the only native one.', name())),
  ...written(VirtualSwitch.schema.fields, 'bondMode', 'igmpSpec', 'isQuickMode', 'mtu'),
  hostNics: about('The same on each host: eth2, eth3.', names(32)),
})

export const ExternalStorage = object('', {
  ...named(256),
  providerType: enumeration(['DELL_POWERFLEX', 'PURE_STORAGE_FLASHARRAY']),
  totalCapacityGiB: GiB(largestCount),
  address: optional(address()),
  pod: optional(about('Of a FlashArray.', object('', allOptional({ name: name(), realm: name() })))),
  storagePool: optional(
    about('Of a PowerFlex.', object('', allOptional({ name: name(), protectionDomainName: name() }))),
  ),
})
