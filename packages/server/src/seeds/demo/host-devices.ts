/** Devices of the hosts of a new world, from the names that describe them. Source: behaviour clustermgmt.md 1.7, 4; vmm.md 1.5. */
import { createHash } from 'node:crypto'
import { seedId } from '../../core/ids/named-id.ts'
import type { HostDevice, PassthroughGpu, PcieCard, SharedGpu } from '../../drivers/hardware.ts'

const GiB = 1024 ** 3
const MiB = 1024 ** 2
const fractions = [100, 50, 25, 10]
const firstBus = 0x3b
const defaultGiB = 16
const guestDriverVersion = '17.3'

interface HostOfDevices {
  readonly extId: string
  readonly clusterExtId: string
  readonly gpuList?: readonly string[] | undefined
  readonly pcieDevices?: readonly string[] | undefined
}

/** Cards named "virtual" are shared by VMs; others belong to one. Equal names are equal models, and name frame buffer, vendor and mode. */
export function devicesOf({
  extId,
  clusterExtId,
  gpuList = [],
  pcieDevices = [],
}: HostOfDevices): readonly HostDevice[] {
  const names = [...gpuList, ...pcieDevices]
  return names.map((name, index): HostDevice => {
    const place = {
      extId: seedId(`device/${extId}/${index}`),
      clusterExtId,
      hostExtId: extId,
      name,
      address: { segment: 0, bus: firstBus + index, device: 0, func: 0 },
    }
    if (index >= gpuList.length) return otherCard(place)
    return /virtual/i.test(name) ? sharedCard(place) : passthroughCard(place)
  })
}

type Place = Omit<PassthroughGpu, 'deviceId' | 'frameBufferSizeBytes' | 'kind' | 'mode' | 'vendor'>

function passthroughCard(place: Place): PassthroughGpu {
  return {
    ...place,
    kind: 'GPU',
    mode: /graphics/i.test(place.name) ? 'PASSTHROUGH_GRAPHICS' : 'PASSTHROUGH_COMPUTE',
    vendor: vendorOf(place.name),
    deviceId: deviceIdOf(place.name),
    frameBufferSizeBytes: frameBufferOf(place.name),
  }
}

function sharedCard(place: Place): SharedGpu {
  const bytes = frameBufferOf(place.name)
  const types = fractions.map((fraction, index) => {
    const frameBufferSizeBytes = Math.floor((bytes * fraction) / 100 / MiB) * MiB
    return {
      deviceId: deviceIdOf(place.name) + index + 1,
      name: `${place.name}, ${fraction} %`,
      fraction,
      frameBufferSizeBytes,
      numVirtualDisplayHeads: fraction >= 50 ? 4 : 2,
      guestDriverVersion,
    }
  })
  return {
    ...place,
    kind: 'SHARED_GPU',
    vendor: vendorOf(place.name),
    deviceId: deviceIdOf(place.name),
    frameBufferSizeBytes: bytes,
    types,
  }
}

function otherCard(place: Place): PcieCard {
  const isEncryption = /encrypt/i.test(place.name)
  const ids = { vendorId: 0x1d0f, deviceId: deviceIdOf(place.name) }
  return {
    ...place,
    kind: 'PCIE',
    type: isEncryption ? 'ENCRYPTION_DECRYPTION_CONTROLLER' : 'PROCESSING_ACCELERATOR',
    configuration: {
      ...ids,
      // Class codes of PCI.
      classId: isEncryption ? 0x10 : 0x12,
      subClassId: 0,
      progIFace: 0,
      subSystemVendorId: ids.vendorId,
      subSystemId: 1,
    },
  }
}

const vendorOf = (name: string): SharedGpu['vendor'] =>
  /\bamd\b/i.test(name) ? 'AMD' : /\bintel\b/i.test(name) ? 'INTEL' : 'NVIDIA'

/** A multiple of 16, so that the types of a card have numbers of their own. */
const deviceIdOf = (name: string): number => createHash('sha1').update(`gpu ${name}`).digest().readUInt16BE(0) & 0xfff0

const frameBufferOf = (name: string): number => Number(/(\d+) GiB/.exec(name)?.[1] ?? defaultGiB) * GiB
