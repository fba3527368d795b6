/** The descriptor and the manifest of an OVA. Source: DMTF DSP0243 1.1.0; behaviour vmm.md 1.11. */
import { createHash } from 'node:crypto'
import { escapeXml } from '../../../../core/xml.ts'
import type { DiskFormat, FrozenDisk, TextFile } from '../../../../drivers/ova-files.ts'
import { type DiskEntity, fileOf, isUefi, vcpusOf } from '../../../virtual-machines/entity.ts'
import { type BusType, controllers, formats, ovf, rasd, resourceType, setting, vmw, vssd } from './ovf.ts'
import type { VmConfig } from './vm-config.ts'

const MiB = 1024 ** 2

export interface Packaged {
  readonly baseName: string
  readonly vmConfig: VmConfig
  readonly format: DiskFormat
  /** In the order of the disks in `vmConfig`. */
  readonly files: readonly FrozenDisk[]
}

/** Descriptor first, as OVF demands, then the manifest. */
export function textsOf(packaged: Packaged): readonly TextFile[] {
  const { baseName, files } = packaged
  const descriptor = { name: `${baseName}.ovf`, text: descriptorOf(packaged) }
  const sha256 = createHash('sha256').update(descriptor.text).digest('hex')
  const lines = [{ name: descriptor.name, sha256 }, ...files].map((file) => `SHA256(${file.name})= ${file.sha256}\n`)
  return [descriptor, { name: `${baseName}.mf`, text: lines.join('') }]
}

const quoted = (value: string | number): string => `"${escapeXml(String(value))}"`

/** Undefined fields are left out; `Item` demands the order of the alphabet. */
const item = (fields: Readonly<Record<string, string | number | undefined>>, extra = ''): string =>
  [
    '      <Item>',
    ...Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [`        <rasd:${name}>${escapeXml(String(value))}</rasd:${name}>`],
    ),
    ...(extra === '' ? [] : [`        ${extra}`]),
    '      </Item>',
  ].join('\n')

const config = (element: 'Config' | 'ExtraConfig', key: string, value: string | number): string =>
  `      <vmw:${element} ovf:required="false" vmw:key=${quoted(key)} vmw:value=${quoted(value)}/>`

function descriptorOf({ vmConfig, format, files }: Packaged): string {
  const { disks = [], nics = [] } = vmConfig
  const sizes = disks.map((disk) => fileOf(disk as DiskEntity)?.diskSizeBytes ?? 0)
  const numbered = files.map((file, index) => ({ ...file, number: index + 1, capacity: sizes[index] ?? 0 }))
  const name = escapeXml(vmConfig.name ?? 'vm')
  return `${[
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<Envelope xmlns="${ovf}" xmlns:ovf="${ovf}" xmlns:rasd="${rasd}" xmlns:vmw="${vmw}" xmlns:vssd="${vssd}">`,
    '  <References>',
    ...numbered.map(
      (file) => `    <File ovf:id="file${file.number}" ovf:href=${quoted(file.name)} ovf:size="${file.sizeBytes}"/>`,
    ),
    '  </References>',
    '  <DiskSection>',
    '    <Info>Virtual disks</Info>',
    ...numbered.map(
      ({ number, capacity }) =>
        `    <Disk ovf:diskId="disk${number}" ovf:fileRef="file${number}" ovf:capacity="${capacity}" ovf:capacityAllocationUnits="byte" ovf:format="${formats[format]}"/>`,
    ),
    '  </DiskSection>',
    '  <NetworkSection>',
    '    <Info>Networks of the NICs</Info>',
    ...nics.map((_, index) => `    <Network ovf:name="network${index + 1}"/>`),
    '  </NetworkSection>',
    `  <VirtualSystem ovf:id="${name}">`,
    '    <Info>A virtual machine</Info>',
    `    <Name>${name}</Name>`,
    '    <VirtualHardwareSection>',
    '      <Info>Virtual hardware</Info>',
    '      <System>',
    '        <vssd:ElementName>Virtual hardware</vssd:ElementName>',
    '        <vssd:InstanceID>0</vssd:InstanceID>',
    `        <vssd:VirtualSystemIdentifier>${name}</vssd:VirtualSystemIdentifier>`,
    '        <vssd:VirtualSystemType>kvm</vssd:VirtualSystemType>',
    '      </System>',
    ...hardwareOf(vmConfig),
    '    </VirtualHardwareSection>',
    '  </VirtualSystem>',
    '</Envelope>',
  ].join('\n')}\n`
}

function hardwareOf(vmConfig: VmConfig): string[] {
  const { disks = [], cdRoms = [], nics = [], numCoresPerSocket = 1, numThreadsPerCore = 1 } = vmConfig
  const busOf = ({ diskAddress }: Pick<DiskEntity, 'diskAddress'>): BusType => diskAddress?.busType ?? 'SCSI'
  const buses = [...new Set([...disks, ...cdRoms].map((part) => busOf(part as DiskEntity)))]
  let instance = 2
  const parents = new Map(buses.map((bus) => [bus, ++instance]))
  const vcpus = vcpusOf(vmConfig)
  const drive = (part: object, name: string, type: number, more: Readonly<Record<string, string>>): string => {
    const { diskAddress } = part as DiskEntity
    const bus = busOf(part as DiskEntity)
    return item({
      AddressOnParent: diskAddress?.index ?? 0,
      ElementName: name,
      ...more,
      InstanceID: ++instance,
      Parent: parents.get(bus),
      ResourceType: type,
    })
  }
  return [
    item(
      {
        ElementName: `${vcpus} virtual CPUs`,
        InstanceID: 1,
        ResourceType: resourceType.processor,
        VirtualQuantity: vcpus,
      },
      `<vmw:CoresPerSocket ovf:required="false">${numCoresPerSocket * numThreadsPerCore}</vmw:CoresPerSocket>`,
    ),
    item({
      AllocationUnits: 'byte * 2^20',
      ElementName: 'Memory',
      InstanceID: 2,
      ResourceType: resourceType.memory,
      VirtualQuantity: (vmConfig.memorySizeBytes ?? 0) / MiB,
    }),
    ...buses.map((bus) => {
      const [ResourceType, ResourceSubType] = controllers[bus]
      return item({ Address: 0, ElementName: bus, InstanceID: parents.get(bus), ResourceSubType, ResourceType })
    }),
    ...disks.map((disk, index) =>
      drive(disk, `Disk ${index + 1}`, resourceType.disk, { HostResource: `ovf:/disk/disk${index + 1}` }),
    ),
    ...cdRoms.map((part, index) => drive(part, `CD drive ${index + 1}`, resourceType.cdDrive, {})),
    ...nics.map(({ backingInfo }, index) =>
      item({
        AddressOnParent: index,
        AutomaticAllocation: 'true',
        Connection: `network${index + 1}`,
        ElementName: `NIC ${index + 1}`,
        InstanceID: ++instance,
        ResourceSubType: backingInfo?.model === 'E1000' ? 'E1000' : 'virtio',
        ResourceType: resourceType.ethernet,
      }),
    ),
    config('Config', setting.firmware, isUefi(vmConfig) ? 'efi' : 'bios'),
    ...(vmConfig.machineType === undefined ? [] : [config('ExtraConfig', setting.machineType, vmConfig.machineType)]),
    config('ExtraConfig', setting.threadsPerCore, numThreadsPerCore),
    config('ExtraConfig', setting.timezone, vmConfig.hardwareClockTimezone ?? 'UTC'),
  ]
}
