/** Reads the descriptor of an OVA that any tool has written. Source: DMTF DSP0243 1.1.0; behaviour vmm.md 1.11. */
import { childrenOf, elementsIn, readXml, type XmlElement, XmlFault } from '../../../../core/xml.ts'
import type { DiskFormat } from '../../../../drivers/ova-files.ts'
import type { NicEntity } from '../../../virtual-machines/entity.ts'
import { isTimezone } from '../../vm/rules.ts'
import { type BusType, ovf, rasd, resourceType, setting, vmw } from './ovf.ts'
import { plainDisk, plainNic, type VmConfig } from './vm-config.ts'

/** A fault of the archive; the message says what was expected and found. */
export class OvaFault extends Error {
  override readonly name = 'OvaFault'
}

export interface Described {
  readonly vmConfig: VmConfig
  /** In the order of the disks in `vmConfig`. */
  readonly disks: readonly { readonly fileName: string; readonly format: DiskFormat }[]
}

const MiB = 1024 ** 2
const longestName = 80
/** The smallest memory that a VM may have. */
const leastMemory = 64 * MiB
const machineTypes = ['PC', 'PSERIES', 'Q35'] as const

export async function readDescriptor(text: string): Promise<Described> {
  const root = await readXml(text).catch((error: unknown) => {
    throw error instanceof XmlFault ? new OvaFault(`its descriptor cannot be read: ${error.message}`) : error
  })
  if (root.name !== 'Envelope' || root.namespace !== ovf)
    throw new OvaFault(`the descriptor is expected to be an Envelope of OVF 1, found ${root.name}`)
  const systems = [...elementsIn(root)].filter(({ name, namespace }) => name === 'VirtualSystem' && namespace === ovf)
  const [system] = systems
  if (system === undefined || systems.length > 1)
    throw new OvaFault(`the descriptor is expected to have one VirtualSystem, found ${systems.length}`)
  const [hardware] = childrenOf(system, ovf, 'VirtualHardwareSection')
  if (hardware === undefined) throw new OvaFault('its VirtualSystem has no VirtualHardwareSection')
  const items = childrenOf(hardware, ovf, 'Item').map(itemOf)
  const settings = settingsOf(hardware)
  const disks = disksOf(root, items)
  const ofType = (type: number): Item[] => items.filter((item) => item.type === type)
  const machineType = machineTypes.find((type) => type === settings.get(setting.machineType))
  const nics = ofType(resourceType.ethernet).map(({ fields }) =>
    plainNic({
      backingInfo: { model: /^e1000/i.test(fields['ResourceSubType'] ?? '') ? 'E1000' : 'VIRTIO' },
    } as NicEntity),
  )
  const cdRoms = ofType(resourceType.cdDrive).map(() => ({}))
  const timezone = settings.get(setting.timezone) ?? 'UTC'
  const vmConfig = {
    name: nameOf(system),
    ...topologyOf(ofType(resourceType.processor), settings),
    memorySizeBytes: memoryOf(ofType(resourceType.memory)),
    ...(machineType === undefined ? {} : { machineType }),
    bootConfig: {
      $objectType: `vmm.v4.ahv.config.${settings.get(setting.firmware) === 'efi' ? 'UefiBoot' : 'LegacyBoot'}`,
    },
    hardwareClockTimezone: isTimezone(timezone) ? timezone : 'UTC',
    ...(disks.length === 0 ? {} : { disks: disks.map(({ sizeBytes, address }) => plainDisk(sizeBytes, address)) }),
    ...(cdRoms.length === 0 ? {} : { cdRoms }),
    ...(nics.length === 0 ? {} : { nics }),
  }
  return { vmConfig: vmConfig as VmConfig, disks }
}

interface Item {
  readonly type: number
  readonly fields: Readonly<Record<string, string>>
  readonly coresPerSocket: string | undefined
}

function itemOf(element: XmlElement): Item {
  const own = element.children.filter(({ namespace }) => namespace === rasd)
  const fields = Object.fromEntries(own.map(({ name, text }) => [name, text.trim()]))
  const coresPerSocket = childrenOf(element, vmw, 'CoresPerSocket')[0]?.text.trim()
  return { type: Number(fields['ResourceType']), fields, coresPerSocket }
}

const settingsOf = (hardware: XmlElement): Map<string, string> =>
  new Map(
    hardware.children
      .filter(({ namespace }) => namespace === vmw)
      .map(({ qualified }) => [qualified[`${vmw} key`] ?? '', qualified[`${vmw} value`] ?? '']),
  )

function nameOf(system: XmlElement): string {
  const named = childrenOf(system, ovf, 'Name')[0]?.text.trim() || system.qualified[`${ovf} id`] || 'vm'
  return [...named.replaceAll(/\p{Cc}/gu, ' ')].slice(0, longestName).join('')
}

function topologyOf([processor]: readonly Item[], settings: ReadonlyMap<string, string>): Partial<VmConfig> {
  const vcpus = wholeNumber(processor?.fields['VirtualQuantity'] ?? '1', 'the number of virtual CPUs')
  const perSocket = Number(processor?.coresPerSocket ?? 1)
  const threads = Number(settings.get(setting.threadsPerCore) ?? 1)
  const fits = (share: number, total: number): boolean =>
    Number.isSafeInteger(share) && share > 0 && total % share === 0
  const socketVcpus = fits(perSocket, vcpus) ? perSocket : 1
  const numThreadsPerCore = fits(threads, socketVcpus) ? threads : 1
  return { numSockets: vcpus / socketVcpus, numCoresPerSocket: socketVcpus / numThreadsPerCore, numThreadsPerCore }
}

function memoryOf([memory]: readonly Item[]): number {
  if (memory === undefined) throw new OvaFault('its descriptor has no memory (an Item with ResourceType 4)')
  const { AllocationUnits, VirtualQuantity = '' } = memory.fields
  const bytes = sizeOf(VirtualQuantity, AllocationUnits ?? 'byte * 2^20', 'the memory')
  if (bytes % MiB === 0 && bytes >= leastMemory) return bytes
  throw new OvaFault(`the memory is expected to be a multiple of 1 MiB, at least 64 MiB, found ${bytes} bytes`)
}

function wholeNumber(text: string, what: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new OvaFault(`${what} is expected to be a whole number above 0, found "${text.slice(0, 100)}"`)
}

function sizeOf(text: string, unit: string, what: string): number {
  const bytes = wholeNumber(text, what) * unitOf(unit)
  if (Number.isSafeInteger(bytes)) return bytes
  throw new OvaFault(
    `${what} is expected to be less than 8 PiB, found "${text.slice(0, 100)}" of "${unit.slice(0, 100)}"`,
  )
}

const oldUnits: Readonly<Record<string, number>> = { kilobytes: 2 ** 10, megabytes: 2 ** 20, gigabytes: 2 ** 30 }

function unitOf(text: string): number {
  const power = /^byte(?:\s*\*\s*2\s*\^\s*(\d{1,2}))?$/i.exec(text.trim())
  const unit = power === null ? oldUnits[text.trim().toLowerCase()] : 2 ** Number(power[1] ?? 0)
  if (unit !== undefined) return unit
  throw new OvaFault(`a unit like "byte * 2^20" is expected, found "${text.slice(0, 100)}"`)
}

interface DescribedDisk {
  readonly fileName: string
  readonly format: DiskFormat
  readonly sizeBytes: number
  readonly address: { readonly busType: BusType; readonly index: number }
}

/** Disks of the virtual hardware, numbered on each bus in their order. */
function disksOf(root: XmlElement, items: readonly Item[]): DescribedDisk[] {
  const at = (element: XmlElement, name: string): string | undefined => element.qualified[`${ovf} ${name}`]
  const inSection = (section: string, name: string): readonly XmlElement[] =>
    childrenOf(root, ovf, section).flatMap((element) => childrenOf(element, ovf, name))
  const files = new Map(inSection('References', 'File').map((file) => [at(file, 'id'), file]))
  const described = new Map(inSection('DiskSection', 'Disk').map((disk) => [at(disk, 'diskId'), disk]))
  const byInstance = new Map(items.map((item) => [item.fields['InstanceID'], item]))
  const used = new Map<BusType, number>()
  return items
    .filter(({ type }) => type === resourceType.disk)
    .map(({ fields }) => {
      const diskId = fields['HostResource']?.replace(/^(?:ovf:)?\/disk\//, '')
      const disk = described.get(diskId)
      const file = files.get(disk === undefined ? undefined : at(disk, 'fileRef'))
      if (disk === undefined || file === undefined)
        throw new OvaFault(`the disk "${(diskId ?? '').slice(0, 100)}" of the virtual hardware has no file`)
      if (at(file, 'compression') !== undefined || at(file, 'chunkSize') !== undefined)
        throw new OvaFault('files that are compressed or split are not supported; export the VM again without')
      const busType = busOf(byInstance.get(fields['Parent']))
      const index = used.get(busType) ?? 0
      used.set(busType, index + 1)
      const units = at(disk, 'capacityAllocationUnits') ?? 'byte'
      return {
        fileName: at(file, 'href') ?? '',
        format: formatOf(at(disk, 'format') ?? ''),
        sizeBytes: sizeOf(at(disk, 'capacity') ?? '', units, 'the capacity of a disk'),
        address: { busType, index },
      }
    })
}

function busOf(controller: Item | undefined): BusType {
  const subtype = controller?.fields['ResourceSubType'] ?? ''
  if (controller?.type === resourceType.ide) return 'IDE'
  if (controller?.type === resourceType.otherStorage) return /virtio/i.test(subtype) ? 'PCI' : 'SATA'
  return /spapr/i.test(subtype) ? 'SPAPR' : 'SCSI'
}

function formatOf(uri: string): DiskFormat {
  if (/vmdk/i.test(uri)) return 'VMDK'
  if (/qcow/i.test(uri)) return 'QCOW2'
  throw new OvaFault(`the format of a disk is expected to be VMDK or QCOW2, found "${uri.slice(0, 100)}"`)
}
