import { arrayOf, boolean, enumeration, integer, object, oneOf, optional, text } from '@hyperplane/contract'
import { ExternVm as StoredExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Vm as Stored } from '@hyperplane/contract/vmm/vm/vm'
import { written } from '../readable.ts'
import { about, address, categories, description, GiB, macAddress, name, named, nameOrNames, names } from './words.ts'

export const Image = object('', {
  ...named(256),
  type: optional(about('Default: by its name.', enumeration(['DISK_IMAGE', 'ISO_IMAGE']))),
  description: description(),
  url: optional(
    about(
      'Where it was fetched from. Default: https://images.example.com/ and its name.',
      text({ minLength: 8, maxLength: 2048 }),
    ),
  ),
  sizeGiB: optional(about('Default 2; of one with a url what the world holds there.', GiB(1024))),
  clusters: optional(about('Where it lies. Default: on every native cluster.', names())),
  categories: categories(),
})

const Disk = object('', {
  sizeGiB: optional(GiB(1_048_576)),
  image: optional(about('What it is made from.', name())),
  container: optional(about('Default: default.', name())),
  busType: optional(about('Default: SCSI.', enumeration(['SCSI', 'IDE', 'PCI', 'SATA']))),
})

const CdRom = object('', {
  image: optional(about('What lies in it. Default: nothing.', name())),
  busType: optional(about('Default: IDE.', enumeration(['IDE', 'SATA']))),
})

const Nic = object('', {
  subnet: name(),
  ipAddress: optional(address()),
  macAddress: optional(macAddress()),
  isConnected: optional(boolean()),
  model: optional(enumeration(['VIRTIO', 'E1000'])),
})

/** One value, or several from which each VM draws one. */
const drawn = (maximum: number) =>
  oneOf(integer({ minimum: 1, maximum }), arrayOf(integer({ minimum: 1, maximum }), { minItems: 1, maxItems: 32 }))

export const plainVmFields = [
  'apcConfig',
  'enabledCpuFeatures',
  'hardwareClockTimezone',
  'isAgentVm',
  'isBrandingEnabled',
  'isCpuHotplugEnabled',
  'isCpuPassthroughEnabled',
  'isGpuConsoleEnabled',
  'isMemoryOvercommitEnabled',
  'isScsiControllerEnabled',
  'isVcpuHardPinningEnabled',
  'isVgaConsoleEnabled',
  'numCoresPerSocket',
  'numNumaNodes',
  'numThreadsPerCore',
] as const

export const Vm = object('', {
  ...named(80),
  description: description(),
  cluster: optional(about('Or several, in turn. Default: every native one that has all that it names.', nameOrNames())),
  vcpus: optional(about('Sockets. Default 1; of several values one is drawn.', drawn(240))),
  memoryGiB: optional(about('Default 1; of several values one is drawn.', drawn(16_384))),
  disks: optional(about('Sizes in GiB, or more about each.', arrayOf(oneOf(GiB(1_048_576), Disk), { maxItems: 64 }))),
  cdRoms: optional(about('Names of images, or more about each.', arrayOf(oneOf(name(), CdRom), { maxItems: 4 }))),
  nics: optional(about('Names of subnets, or more about each.', arrayOf(oneOf(name(), Nic), { maxItems: 64 }))),
  powerState: optional(about('Default: OFF.', enumeration(['OFF', 'ON']))),
  bootType: optional(enumeration(['LEGACY', 'UEFI'])),
  hasGuestTools: optional(boolean()),
  owner: optional(about('Name of a user. Default: admin.', name())),
  ...written(Stored.schema.fields, ...plainVmFields),
  categories: categories(),
})

const ExternNic = object('', {
  portGroup: optional(about('Default: VM Network.', name(128))),
  macAddress: optional(macAddress()),
  ipAddress: optional(address()),
})

export const ExternVm = object('', {
  ...named(80),
  description: description(),
  cluster: optional(about('Default: the only external one.', name())),
  host: optional(about('Default: one of its hosts, in turn.', name())),
  powerState: optional(about('Default: OFF.', enumeration(['OFF', 'ON', 'SUSPENDED']))),
  memoryGiB: optional(about('Default 1.', GiB(16_384))),
  ...written(StoredExternVm.schema.fields, 'guestOsName', 'numCoresPerSocket', 'numCpus', 'virtualHardwareVersion'),
  container: optional(about('Where its disks lie. Default: default.', name())),
  disksGiB: optional(arrayOf(GiB(1_048_576), { maxItems: 64 })),
  nics: optional(arrayOf(ExternNic, { maxItems: 10 })),
  hasGuestTools: optional(about('They run while it is on.', boolean())),
  owner: optional(about('Name of a user. Default: admin.', name())),
  categories: categories(),
})
