"""Qualities of service of the topics that nodes of this package share."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

CONTROL_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of joint_states and joint_commands, publishers and subscriptions: nothing lost while both keep up, else the newest.

Reliable publishers also serve best-effort subscriptions (robot_state_publisher, RViz); a best-effort publisher is not
heard by a control path, which reports it by name.
"""

COMMAND_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=10)
"""Of the subscription of joint_commands: commands of several publishers, each for some joints, do not displace each
other within a control period.
"""

LATCHED_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of robot_description: late joiners get the last value."""

LATEST_QOS = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of subscriptions for which the newest is all that is wanted, and the publisher is not to wait for anybody."""
