/** Messages of the SNMP agents of clusters to their receivers. Source: behaviour clustermgmt.md 1.12; RFC 3416, 3414, 3430. */
export interface TrapSender {
  refusalOf(address: string): string | undefined
  /** Resolves when the trap has left, or the inform is confirmed (up to 35 s: do not wait). @throws DriverError, message lost */
  send(receiver: TrapReceiver, notification: Notification): Promise<void>
  close(): void
}

export interface TrapReceiver {
  readonly address: string
  readonly port: number
  readonly protocol: 'UDP' | 'UDP6' | 'TCP' | 'TCP6'
  /** Repeated until the receiver confirms it. */
  readonly isInform: boolean
  readonly security: CommunitySecurity | UserSecurity
}

export interface CommunitySecurity {
  readonly version: 'V2'
  readonly community: string
}

export interface UserSecurity {
  readonly version: 'V3'
  readonly username: string
  readonly authType: 'MD5' | 'SHA'
  readonly authKey: string
  readonly privType?: 'DES' | 'AES' | undefined
  readonly privKey?: string | undefined
  /** Engine of the sender, in hexadecimal digits. Receivers store keys for each engine. */
  readonly engineId: string
}

export interface Notification {
  readonly oid: string
  /** Hundredths of a second. */
  readonly upTime: number
  readonly values: readonly { readonly oid: string; readonly value: number | string }[]
}

/** For worlds that are being filled: no cluster has alerts there. */
export const noTraps: TrapSender = {
  refusalOf: () => 'the world is being filled',
  send: async () => undefined,
  close: () => undefined,
}
