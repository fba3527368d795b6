/** Messages of IPFIX (RFC 7011) with records of IPv4 flows. Elements: https://www.iana.org/assignments/ipfix. */
export interface FlowRecord {
  readonly source: number
  readonly destination: number
  readonly sourcePort: number
  readonly destinationPort: number
  readonly protocol: number
  readonly isDropped: boolean
  readonly bytes: number
  readonly packets: number
  readonly from: number
  readonly to: number
}

export interface ExportStream {
  readonly observationDomain: number
  readonly sequence: number
  readonly exportedAt: number
}

const version = 10
const templateSet = 2
const templateId = 256
const [headerBytes, setHeaderBytes] = [16, 4]
/** With headers of IP and UDP this fits an Ethernet frame. */
const maximumMessage = 1400
const dropped = 128
const forwarded = 64

type Write = (view: DataView, at: number, record: FlowRecord) => void
const u8 =
  (of: (record: FlowRecord) => number): Write =>
  (view, at, record) =>
    view.setUint8(at, of(record))
const u16 =
  (of: (record: FlowRecord) => number): Write =>
  (view, at, record) =>
    view.setUint16(at, of(record))
const u32 =
  (of: (record: FlowRecord) => number): Write =>
  (view, at, record) =>
    view.setUint32(at, of(record))
const u64 =
  (of: (record: FlowRecord) => number): Write =>
  (view, at, record) =>
    view.setBigUint64(at, BigInt(of(record)))

const elements: readonly { readonly id: number; readonly length: number; readonly write: Write }[] = [
  // sourceIPv4Address, destinationIPv4Address, sourceTransportPort, destinationTransportPort
  { id: 8, length: 4, write: u32(({ source }) => source) },
  { id: 12, length: 4, write: u32(({ destination }) => destination) },
  { id: 7, length: 2, write: u16(({ sourcePort }) => sourcePort) },
  { id: 11, length: 2, write: u16(({ destinationPort }) => destinationPort) },
  // protocolIdentifier, forwardingStatus (RFC 7270)
  { id: 4, length: 1, write: u8(({ protocol }) => protocol) },
  { id: 89, length: 1, write: u8(({ isDropped }) => (isDropped ? dropped : forwarded)) },
  // octetDeltaCount, packetDeltaCount, flowStartMilliseconds, flowEndMilliseconds
  { id: 1, length: 8, write: u64(({ bytes }) => bytes) },
  { id: 2, length: 8, write: u64(({ packets }) => packets) },
  { id: 152, length: 8, write: u64(({ from }) => from) },
  { id: 153, length: 8, write: u64(({ to }) => to) },
]
const recordBytes = elements.reduce((sum, { length }) => sum + length, 0)
const templateBytes = setHeaderBytes + 4 + 4 * elements.length

/** Every message has the template, because UDP may lose any. @param maximumBytes of all messages; further records are left out */
export function ipfixMessages(
  records: readonly FlowRecord[],
  stream: ExportStream,
  maximumBytes = Number.POSITIVE_INFINITY,
): readonly { readonly message: Uint8Array; readonly records: number }[] {
  const messages: { readonly message: Uint8Array; readonly records: number }[] = []
  let [sent, left] = [0, maximumBytes]
  while (sent < records.length) {
    const room = Math.min(maximumMessage, left) - headerBytes - templateBytes - setHeaderBytes
    const count = Math.min(records.length - sent, Math.floor(room / recordBytes))
    if (count <= 0) break
    const message = messageOf(records.slice(sent, sent + count), { ...stream, sequence: stream.sequence + sent })
    messages.push({ message, records: count })
    sent += count
    left -= message.byteLength
  }
  return messages
}

function messageOf(
  records: readonly FlowRecord[],
  { observationDomain, sequence, exportedAt }: ExportStream,
): Uint8Array {
  const dataBytes = setHeaderBytes + records.length * recordBytes
  const view = new DataView(new ArrayBuffer(headerBytes + templateBytes + dataBytes))
  view.setUint16(0, version)
  view.setUint16(2, view.byteLength)
  view.setUint32(4, Math.floor(exportedAt / 1000))
  view.setUint32(8, sequence % 2 ** 32)
  view.setUint32(12, observationDomain)
  writeTemplate(view, headerBytes)
  let at = headerBytes + templateBytes
  view.setUint16(at, templateId)
  view.setUint16(at + 2, dataBytes)
  at += setHeaderBytes
  for (const record of records)
    for (const { length, write } of elements) {
      write(view, at, record)
      at += length
    }
  return new Uint8Array(view.buffer)
}

function writeTemplate(view: DataView, start: number): void {
  view.setUint16(start, templateSet)
  view.setUint16(start + 2, templateBytes)
  view.setUint16(start + 4, templateId)
  view.setUint16(start + 6, elements.length)
  for (const [index, { id, length }] of elements.entries()) {
    view.setUint16(start + 8 + 4 * index, id)
    view.setUint16(start + 10 + 4 * index, length)
  }
}
