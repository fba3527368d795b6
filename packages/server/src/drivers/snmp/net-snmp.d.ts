/** The part of the library that is used here. Its own package has no types. */
declare module 'net-snmp' {
  import type { EventEmitter } from 'node:events'

  export interface User {
    readonly name: string
    readonly level: number
    readonly authProtocol?: string
    readonly authKey?: string
    readonly privProtocol?: string
    readonly privKey?: string
  }

  export interface Engine {
    readonly engineID: Buffer
  }

  export interface Varbind {
    readonly oid: string
    readonly type: number
    readonly value: number | string | Buffer
  }

  export interface SessionOptions {
    readonly transport?: 'udp4' | 'udp6'
    readonly port?: number
    readonly trapPort?: number
    readonly retries?: number
    readonly timeout?: number
    readonly version?: number
    readonly engineID?: Buffer
    /** In place of `node:dgram`. */
    readonly dgramModule?: { createSocket(transport: string): EventEmitter }
  }

  export interface Request {
    readonly message: {
      readonly msgSecurityParameters?: {
        msgAuthoritativeEngineBoots: number
        msgAuthoritativeEngineTime: number
      }
    }
  }

  export type Sent = (error: Error | null) => void
  export type SendOptions = { readonly upTime: number }

  export interface Session extends EventEmitter {
    readonly dgram: EventEmitter
    onMsg(message: Buffer): void
    trap(oid: string, varbinds: readonly Varbind[], options: SendOptions, sent: Sent): void
    inform(oid: string, varbinds: readonly Varbind[], options: SendOptions, sent: Sent): void
    /** `noWait`: no answer is expected. */
    send(request: Request, noWait?: boolean): unknown
    close(): void
  }

  export interface Receiver {
    getAuthorizer(): { addUser(user: User): void; addCommunity(community: string): void }
    close(closed?: () => void): void
  }

  export interface Received {
    readonly pdu: { readonly type: number; readonly varbinds: readonly Varbind[]; readonly community?: string }
    readonly rinfo: { readonly address: string }
  }

  export interface ReceiverOptions {
    readonly port: number
    readonly address?: string
    readonly transport?: 'udp4' | 'udp6'
    readonly engineID?: string
    readonly dgramModule?: { createSocket(options: unknown): EventEmitter }
  }

  export interface ModuleStore {
    loadFromFile(file: string): void
    getModule(name: string): Readonly<Record<string, unknown>>
    translate(oid: string, format: string): string
  }

  interface Library {
    createSession(address: string, community: string, options: SessionOptions): Session
    createV3Session(address: string, user: User, options: SessionOptions): Session
    createReceiver(options: ReceiverOptions, received: (error: Error | null, message: Received) => void): Receiver
    createModuleStore(): ModuleStore
    readonly Version2c: number
    readonly SecurityLevel: { readonly authNoPriv: number; readonly authPriv: number }
    readonly AuthProtocols: { readonly md5: string; readonly sha: string }
    readonly PrivProtocols: { readonly des: string; readonly aes: string }
    readonly ObjectType: { readonly Integer: number; readonly OctetString: number }
    readonly PduType: { readonly InformRequest: number; readonly TrapV2: number }
    readonly OidFormat: { readonly path: string }
    readonly Authentication: {
      authToKeyCache: Record<string, Buffer>
      passwordToKey(authProtocol: string, password: string, engineId: Buffer): Buffer
    }
    readonly Encryption: { readonly algorithms: Readonly<Record<string, object>> }
  }

  const snmp: Library
  export default snmp
}
